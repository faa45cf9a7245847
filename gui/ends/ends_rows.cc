#include "ends_rows.h"

#include <algorithm>
#include <limits>

namespace rpcrdma::gui {

namespace {

int rank_of(ends::Side side) {
  switch (side) {
    case ends::Side::kClient:
      return 0;
    case ends::Side::kNetwork:
      return 1;
    case ends::Side::kServer:
      return 2;
    case ends::Side::kInconclusive:
      return 3;
    case ends::Side::kNone:
      break;
  }
  return 4;
}

// What decides is copied, so that sorting a million rows stays in the cache.
struct Sorted {
  std::int64_t key = 0;
  int rank = 0;
  std::uint32_t call = 0;
  friend bool operator<(const Sorted& a, const Sorted& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.key != b.key ? a.key < b.key : a.call < b.call;
  }
};

}  // namespace

const std::vector<ends::EndsCall>& calls_of(const ends::Ends& all) {
  return all.calls.empty() ? all.slowest : all.calls;
}

EndsRows rows_of(const ends::Ends& all, EndsOrder order, const EndsFilter& filter) {
  const std::vector<ends::EndsCall>& calls = calls_of(all);
  const auto count = static_cast<std::uint32_t>(
      std::min<std::size_t>(calls.size(), std::numeric_limits<std::int32_t>::max()));
  EndsRows rows;
  rows.order = order;
  std::vector<Sorted> found;
  found.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ends::EndsCall& call = calls[i];
    if (filter.side && call.side != *filter.side) continue;
    if (filter.procedure && call.name != *filter.procedure) continue;
    const std::int64_t took = call.end_ns - call.begin_ns;
    rows.longest_ns = std::max(rows.longest_ns, took);
    Sorted row{took, 0, i};
    switch (order) {
      case EndsOrder::kSlowestFirst:
        row.key = -took;
        break;
      case EndsOrder::kFastestFirst:
        break;
      case EndsOrder::kOldestFirst:
        row.key = call.begin_ns;
        break;
      case EndsOrder::kNewestFirst:
        row.key = -call.begin_ns;
        break;
      case EndsOrder::kBySide:
        row.key = -took;
        row.rank = rank_of(call.side);
        break;
    }
    found.push_back(row);
  }
  std::sort(found.begin(), found.end());
  rows.calls.reserve(found.size());
  for (const Sorted& row : found) rows.calls.push_back(row.call);
  return rows;
}

}  // namespace rpcrdma::gui
