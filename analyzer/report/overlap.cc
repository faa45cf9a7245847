#include "overlap.h"

#include "merge_order.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

constexpr std::int64_t kJitterNs = 1'000'000;

}  // namespace

std::uint32_t Overlaps::address(const std::string& text) {
  const auto [at, added] = index_.try_emplace(text, static_cast<std::uint32_t>(addresses_.size()));
  if (added) addresses_.push_back(&at->first);
  return at->second;
}

void Overlaps::add(const Report& report) {
  const std::uint32_t number = reports_++;
  for (const Connection& c : report.connections) {
    // A report without times comes from no capture.
    if (c.first_ns == 0 && c.last_ns == 0) continue;
    Presence p;
    p.report = number;
    p.first_ns = c.first_ns;
    p.last_ns = c.last_ns;
    for (std::size_t side = 0; side < 2; ++side) {
      const EndPoint& end = c.side[side];
      p.address[side] = address(end.address);
      p.number[side] = end.port.value_or(end.qpn.value_or(0));
      p.is[side] = end.port ? Number::kPort : end.qpn ? Number::kQpn : Number::kUnknown;
    }
    presences_.push_back(p);
  }
}

// Like ConnectionJoin::flow().
Overlaps::Ends Overlaps::ends(const Flow& flow) const {
  const Presence& p = presences_[flow.presence];
  const std::size_t from = 1 - flow.to;
  std::uint32_t number = p.number[flow.to];
  if (p.is[flow.to] == Number::kPort && p.is[from] == Number::kPort) {
    number |= p.number[from] << 16U;
  }
  return {p.address[from], p.address[flow.to], number};
}

std::string Overlaps::find(const std::vector<std::string>& names) const {
  // In the order of the addresses' texts, so that the sentence is always the same.
  std::vector<std::uint32_t> rank(addresses_.size());
  std::uint32_t next = 0;
  for (const auto& [text, number] : index_) rank[number] = next++;
  const auto place = [&](const Flow& f) {
    const auto [from, to, number] = ends(f);
    const Presence& p = presences_[f.presence];
    return std::tuple(rank[from], rank[to], number, p.first_ns, p.report, f.presence);
  };
  std::vector<Flow> order;
  order.reserve(2 * presences_.size());
  for (std::uint32_t i = 0; i < presences_.size(); ++i) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      if (presences_[i].is[side] != Number::kUnknown) order.push_back({i, side});
    }
  }
  std::sort(order.begin(), order.end(),
            [&](const Flow& a, const Flow& b) { return place(a) < place(b); });
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin + 1, order.end(),
                                  [&](const Flow& f) { return ends(f) != ends(*begin); });
    if (end - begin > 1) {
      if (std::string why = find(std::span(begin, end), names); !why.empty()) return why;
    }
    begin = end;
  }
  return {};
}

// Compares each presence with the two that last longest, of two reports: the time does not grow
// with the square of their number.
std::string Overlaps::find(std::span<const Flow> flows,
                           const std::vector<std::string>& names) const {
  const Flow* longest = nullptr;
  const Flow* of_another = nullptr;
  for (const Flow& flow : flows) {
    const Presence& p = presences_[flow.presence];
    for (const Flow* before : {longest, of_another}) {
      if (before == nullptr || presences_[before->presence].report == p.report) continue;
      if (same(*before, flow)) return text(presences_[before->presence], p, names);
    }
    const auto lasts_longer = [&](const Flow* than) {
      return than == nullptr || p.last_ns >= presences_[than->presence].last_ns;
    };
    const auto of_this_report = [&](const Flow& other) {
      return presences_[other.presence].report == p.report;
    };
    if (lasts_longer(longest)) {
      if (longest != nullptr && !of_this_report(*longest)) of_another = longest;
      longest = &flow;
    } else if (!of_this_report(*longest) && lasts_longer(of_another)) {
      of_another = &flow;
    }
  }
  return {};
}

// Whether both are one connection, with packets at the same time.
bool Overlaps::same(const Flow& a, const Flow& b) const {
  const Presence& x = presences_[a.presence];
  const Presence& y = presences_[b.presence];
  for (std::size_t side = 0; side < 2; ++side) {
    const std::size_t other = a.to != b.to ? 1 - side : side;
    const bool known = x.is[side] == Number::kQpn && y.is[other] == Number::kQpn;
    if (known && x.number[side] != y.number[other]) return false;
  }
  if (x.first_ns == y.first_ns && x.last_ns == y.last_ns) return true;
  const std::int64_t shared = std::min(x.last_ns, y.last_ns) - std::max(x.first_ns, y.first_ns);
  const std::int64_t shorter = std::min(x.last_ns - x.first_ns, y.last_ns - y.first_ns);
  return shared > 0 && (shared > kJitterNs || shared > shorter / 2);
}

std::string Overlaps::end_name(const Presence& p, std::size_t side) const {
  const std::string& address = *addresses_[p.address[side]];
  switch (p.is[side]) {
    case Number::kQpn:
      return fmt::format("{} QP {:#x}", address, p.number[side]);
    case Number::kPort:
      return fmt::format("{} port {}", address, p.number[side]);
    case Number::kUnknown:
      break;
  }
  return address;
}

std::string Overlaps::text(const Presence& a, const Presence& b,
                           const std::vector<std::string>& names) const {
  const std::int64_t from = std::max(a.first_ns, b.first_ns);
  const std::int64_t until = std::min(a.last_ns, b.last_ns);
  return fmt::format(
      "{} and {} overlap: both show the connection {} - {} from {} to {}, and its Calls would "
      "count twice. Analyze the captures together instead (rpcrdma analyze FILE FILE)",
      MergeOrder::name(names, std::min(a.report, b.report)),
      MergeOrder::name(names, std::max(a.report, b.report)), end_name(a, 0), end_name(a, 1),
      format_time(from), format_clock(until));
}

}  // namespace rpcrdma::report
