// The time axis that all charts of a report share.
#pragma once

#include <rpcrdma/plot/chart.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

inline constexpr std::size_t kMaxCuts = 8;

// From the first frame to the last, in seconds from the first. Long times without traffic are cut,
// unless a Call was in flight: then the standstill is what a reader wants to see.
[[nodiscard]] plot::Window time_window(const Report& report);

}  // namespace rpcrdma::report
