#include "importance.h"

#include <algorithm>
#include <tuple>

namespace rpcrdma::report {

namespace {

auto importance(const Connection& c) {
  std::uint64_t errors = c.malformed;
  for (const Direction& d : c.direction) {
    errors += d.errors + d.unmatched_calls + d.unmatched_replies;
  }
  std::uint64_t trouble = 0;
  std::uint64_t packets = 0;
  for (const EndPoint& e : c.side) {
    const roce::SideCounters& k = e.counters;
    trouble += k.retransmitted + k.lost_network + k.rnr;
    for (const std::uint64_t n : k.naks) trouble += n;
    packets += k.packets;
  }
  return std::tuple(errors, trouble, packets);
}

}  // namespace

bool more_important(const Connection& a, const Connection& b) {
  const auto x = importance(a);
  const auto y = importance(b);
  return x != y ? x > y : a.id < b.id;
}

std::vector<const Connection*> important_connections(const Report& report, std::size_t count) {
  std::vector<const Connection*> list;
  list.reserve(report.connections.size());
  for (const Connection& c : report.connections) list.push_back(&c);
  if (list.size() <= count) return list;
  std::partial_sort(
      list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count), list.end(),
      [](const Connection* a, const Connection* b) { return more_important(*a, *b); });
  list.resize(count);
  return list;
}

}  // namespace rpcrdma::report
