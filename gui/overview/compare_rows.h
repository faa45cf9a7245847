// The tables of a comparison, as plain values.
#pragma once

#include "cards.h"

#include <rpcrdma/report/compare.h>

namespace rpcrdma::gui {

using CellRows = std::vector<std::vector<BarTable::Cell>>;

inline constexpr std::size_t kMostComparedProcedures = 100;
inline constexpr std::size_t kMostComparedFindings = 100;

// A row for each compared quantile; `of[n]` is the index of the procedure of row n.
struct LatencyRows {
  CellRows rows;
  std::vector<std::size_t> of;
  std::uint64_t more = 0;  // procedures that are left out
};
[[nodiscard]] LatencyRows latency_rows(const report::Comparison& comparison);
// Without numbers that are zero in both.
[[nodiscard]] CellRows sum_rows(const report::Comparison& comparison);
// New, gone, and those in both.
struct FindingRows {
  CellRows rows;
  std::uint64_t more = 0;
};
[[nodiscard]] FindingRows finding_rows(const report::Comparison& comparison);
[[nodiscard]] Sign sign_of(report::Outcome outcome);

}  // namespace rpcrdma::gui
