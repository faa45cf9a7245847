#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::report {

namespace {

constexpr const char* kNotListed = "connections that are not listed";

struct Sum {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  void add(std::uint64_t more, std::uint64_t more_ns) {
    count += more;
    ns += more_ns;
  }
  [[nodiscard]] double mean() const { return static_cast<double>(ns) / static_cast<double>(count); }
};

// Rows by direction and by what they share: an address, or the ID of a connection.
template <typename Key>
using Rows = std::map<std::pair<bool, Key>, LatencyRow>;

struct Compared {
  LatencyTableRow row;
  double lost_ns = 0;  // against the other rows
};

template <typename Key>
class Comparison {
 public:
  explicit Comparison(const Rows<Key>& rows) {
    for (const auto& [key, row] : rows) {
      for (const ProcedureLatency& p : row.procedures) {
        all_[{key.first, p.procedure}].add(p.count, p.sum_ns);
      }
    }
  }

  void compare(bool reverse, const LatencyRow& row, Compared& to) const {
    constexpr std::uint64_t kEnough = 10;
    std::uint64_t others = 0;
    Sum own;
    double expected = 0;
    for (const ProcedureLatency& p : row.procedures) {
      Sum rest = all_.at({reverse, p.procedure});
      rest.count -= p.count;
      rest.ns -= p.sum_ns;
      if (rest.count == 0) continue;
      others += rest.count;
      own.add(p.count, p.sum_ns);
      expected += rest.mean() * static_cast<double>(p.count);
    }
    to.lost_ns = static_cast<double>(own.ns) - expected;
    if (own.count < kEnough || others < kEnough || 2 * own.count < row.total.count()) return;
    if (expected > 0) to.row.times_as_slow = static_cast<double>(own.ns) / expected;
  }

 private:
  std::map<std::pair<bool, ProcedureKey>, Sum> all_;
};

void share_time(std::vector<LatencyTableRow>& rows) {
  double all = 0;
  for (const LatencyTableRow& r : rows) all += static_cast<double>(r.latency.sum());
  if (!(all > 0)) return;
  for (LatencyTableRow& r : rows) r.share_of_time = static_cast<double>(r.latency.sum()) / all;
}

template <typename Key, typename Name>
std::vector<LatencyTableRow> compared(const Rows<Key>& rows, Name&& name) {
  const Comparison<Key> comparison(rows);
  std::vector<Compared> list;
  for (const auto& [key, row] : rows) {
    Compared& c = list.emplace_back();
    c.row.reverse = key.first;
    c.row.latency = row.total.expanded();
    name(key.second, c.row);
    comparison.compare(key.first, row, c);
  }
  std::stable_sort(list.begin(), list.end(), [](const Compared& a, const Compared& b) {
    return std::tuple(a.lost_ns, a.row.latency.mean()) >
           std::tuple(b.lost_ns, b.row.latency.mean());
  });
  std::vector<LatencyTableRow> out;
  out.reserve(list.size());
  for (Compared& c : list) out.push_back(std::move(c.row));
  return out;
}

std::vector<LatencyTableRow> by_connection(const Report& r) {
  Rows<std::uint32_t> rows;
  const auto add = [&](std::uint32_t id, bool reverse, const LatencyRow& row) {
    if (!row.empty()) rows[{reverse, id}].merge(row);
  };
  for (const ConnectionLatency& c : r.latencies.connections) {
    const std::uint32_t id = r.connection(c.connection) != nullptr ? c.connection : 0;
    for (std::size_t d = 0; d < 2; ++d) add(id, d == 1, c.direction[d]);
  }
  for (const ConnectionLatency& c : r.latencies.pairs) {
    for (std::size_t d = 0; d < 2; ++d) add(0, d == 1, c.direction[d]);
  }
  return compared(rows, [&](std::uint32_t id, LatencyTableRow& row) {
    const Connection* const c = r.connection(id);
    row.connection = id;
    row.name = c == nullptr
                   ? std::string(kNotListed)
                   : fmt::format("{}: {} - {}", id, c->side[0].address, c->side[1].address);
  });
}

std::vector<LatencyTableRow> by_address(const Report& r, std::size_t side) {
  Rows<std::string> rows;
  const auto add = [&](const std::string& address, bool reverse, const LatencyRow& row) {
    if (!row.empty()) rows[{reverse, address}].merge(row);
  };
  for (const ConnectionLatency& c : r.latencies.connections) {
    const Connection* const listed = r.connection(c.connection);
    for (std::size_t d = 0; d < 2; ++d) {
      add(listed != nullptr ? listed->side[side].address : std::string(), d == 1, c.direction[d]);
    }
  }
  for (const ConnectionLatency& c : r.latencies.pairs) {
    for (std::size_t d = 0; d < 2; ++d)
      add(side == 0 ? c.client : c.server, d == 1, c.direction[d]);
  }
  return compared(rows, [](const std::string& address, LatencyTableRow& row) {
    row.name = address.empty() ? std::string(kNotListed) : address;
  });
}

std::vector<LatencyTableRow> by_procedure(const Report& r) {
  std::vector<LatencyTableRow> rows;
  for (const auto& [key, p] : r.procedures) {
    if (p.total.count() == 0) continue;
    LatencyTableRow& row = rows.emplace_back();
    row.name = p.label;
    row.reverse = key.reverse;
    row.latency = p.total;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LatencyTableRow& a, const LatencyTableRow& b) {
                     return a.latency.sum() > b.latency.sum();
                   });
  return rows;
}

std::vector<LatencyTableRow> by_size(const Report& r) {
  std::vector<LatencyTableRow> rows;
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t size = 0; size < kSizeClasses; ++size) {
      const base::CompactHistogram& h = r.latencies.sizes[d][size];
      if (h.count() == 0) continue;
      LatencyTableRow& row = rows.emplace_back();
      row.name = size_class_name(static_cast<SizeClass>(size));
      row.reverse = d == 1;
      row.latency = h.expanded();
    }
  }
  return rows;
}

std::vector<LatencyTableRow> rows_of(const Report& r, LatencyBy by) {
  switch (by) {
    case LatencyBy::kConnection:
      return by_connection(r);
    case LatencyBy::kClient:
      return by_address(r, 0);
    case LatencyBy::kServer:
      return by_address(r, 1);
    case LatencyBy::kProcedure:
      return by_procedure(r);
    case LatencyBy::kSize:
      return by_size(r);
  }
  return {};
}

}  // namespace

const char* latency_by_name(LatencyBy by) {
  constexpr std::array<const char*, 5> kNames{"connection", "client", "server", "procedure",
                                              "size"};
  return kNames[static_cast<std::size_t>(by)];
}

std::vector<LatencyTableRow> latency_table(const Report& report, LatencyBy by) {
  std::vector<LatencyTableRow> rows = rows_of(report, by);
  share_time(rows);
  return rows;
}

std::optional<std::int64_t> given_quantile(const base::Histogram& h, double q) {
  const double needed = std::max(2.0, 1 / (1 - q) - 1e-6);
  if (static_cast<double>(h.count()) < needed) return std::nullopt;
  return h.quantile(q);
}

}  // namespace rpcrdma::report
