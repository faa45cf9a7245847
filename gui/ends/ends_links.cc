#include "ends_links.h"

#include <algorithm>
#include <string_view>

namespace rpcrdma::gui {

namespace {

constexpr std::size_t kLockedRows = 1024;

// The address without a port or queue pair: "10.0.0.1" of "10.0.0.1 QP 17".
std::string_view host_of(std::string_view end) {
  end = end.substr(0, end.find(' '));
  if (end.starts_with('[')) return end.substr(1, end.find(']') - 1);
  const std::size_t colon = end.find(':');
  // More than one colon: IPv6.
  if (colon != end.npos && end.find(':', colon + 1) == end.npos) return end.substr(0, colon);
  return end;
}

// How well a Call of the document fits: the lower, the better. XIDs repeat on other connections,
// and after a long time.
struct Fit {
  int others = 0;  // peers that differ
  std::uint64_t apart_ns = 0;
  friend bool operator<(const Fit& a, const Fit& b) {
    return a.others != b.others ? a.others < b.others : a.apart_ns < b.apart_ns;
  }
};

Fit fit_of(const ends::Ends& all, const ends::EndsCall& call, const index::MessageRow& row,
           const index::Content& content) {
  Fit fit;
  const index::ConnectionInfo* const info = content.connection(row.connection);
  if (info != nullptr && call.connection < all.connections.size()) {
    const ends::EndsConnection& connection = all.connections[call.connection];
    fit.others += host_of(info->end[0]) == host_of(connection.client) ? 0 : 1;
    fit.others += host_of(info->end[1]) == host_of(connection.server) ? 0 : 1;
    fit.others += content.reverse(row) == call.reverse ? 0 : 1;
  }
  const auto a = static_cast<std::uint64_t>(std::max(row.time_ns, call.begin_ns));
  const auto b = static_cast<std::uint64_t>(std::min(row.time_ns, call.begin_ns));
  fit.apart_ns = a - b;
  return fit;
}

}  // namespace

EndsLinks::EndsLinks(SharedEnds all, const index::Store& store, const std::atomic<bool>& cancelled)
    : all_(std::move(all)) {
  const std::vector<ends::EndsCall>& calls = calls_of(*all_);
  calls_.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls_.emplace_back(calls[i].xid, static_cast<std::uint32_t>(i));
  }
  std::sort(calls_.begin(), calls_.end());
  for (std::size_t begin = 0; !cancelled.load(std::memory_order_relaxed);) {
    const std::size_t count = store.read([&](const index::Content& c) {
      const std::size_t end = std::min<std::size_t>(c.rows.size(), begin + kLockedRows);
      for (std::size_t i = begin; i < end; ++i) {
        if (c.rows[i].kind == model::Kind::kCall) messages_.emplace_back(c.rows[i].xid, i + 1);
      }
      return end - begin;
    });
    if (count == 0) break;
    begin += count;
  }
  std::sort(messages_.begin(), messages_.end());
}

std::uint64_t EndsLinks::message_of(std::uint32_t call, const index::Store& store) const {
  const std::vector<ends::EndsCall>& calls = calls_of(*all_);
  if (call >= calls.size()) return 0;
  const ends::EndsCall& wanted = calls[call];
  auto it =
      std::lower_bound(messages_.begin(), messages_.end(), std::pair(wanted.xid, std::uint64_t{0}));
  return store.read([&](const index::Content& c) {
    std::uint64_t best = 0;
    Fit best_fit;
    for (; it != messages_.end() && it->first == wanted.xid; ++it) {
      if (it->second > c.rows.size()) continue;
      const Fit fit = fit_of(*all_, wanted, c.rows[it->second - 1], c);
      if (best != 0 && !(fit < best_fit)) continue;
      best = it->second;
      best_fit = fit;
    }
    return best;
  });
}

std::optional<std::uint32_t> EndsLinks::call_of(std::uint64_t message,
                                                const index::Store& store) const {
  const std::vector<ends::EndsCall>& calls = calls_of(*all_);
  return store.read([&](const index::Content& c) -> std::optional<std::uint32_t> {
    if (message == 0 || message > c.rows.size()) return std::nullopt;
    const std::optional<index::MessageRow> row = c.call_of(c.rows[message - 1]);
    if (!row) return std::nullopt;
    std::optional<std::uint32_t> best;
    Fit best_fit;
    auto it = std::lower_bound(calls_.begin(), calls_.end(), std::pair(row->xid, std::uint32_t{0}));
    for (; it != calls_.end() && it->first == row->xid; ++it) {
      const Fit fit = fit_of(*all_, calls[it->second], *row, c);
      if (best && !(fit < best_fit)) continue;
      best = it->second;
      best_fit = fit;
    }
    return best;
  });
}

}  // namespace rpcrdma::gui
