// Builds charts from a report's series and distributions. Times are seconds from the first frame.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <rpcrdma/plot/chart.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Returns at most `count` charts of requested, granted and used credits: one for each direction
// with Calls, those of the most important connections first.
[[nodiscard]] std::vector<plot::Chart> credit_charts(const Report& report, std::size_t count);
// Returns the number of charts that credit_charts() returns without a limit.
[[nodiscard]] std::size_t count_credit_charts(const Report& report);

// A chart has no points if there is no data; such a chart is not drawn.
[[nodiscard]] plot::Chart call_rate_chart(const Report& report);
[[nodiscard]] plot::Chart byte_rate_chart(const Report& report);
[[nodiscard]] plot::Chart outstanding_chart(const Report& report);
// CE marks, CNPs and pause frames; draw it only if there are any.
[[nodiscard]] plot::Chart congestion_chart(const Report& report);
[[nodiscard]] bool any_congestion(const Report& report);
[[nodiscard]] plot::Chart trouble_chart(const Report& report);  // retransmitted packets, NAKs
[[nodiscard]] plot::Chart latency_chart(const Report& report);
[[nodiscard]] plot::Chart slow_calls_chart(const Report& report);
[[nodiscard]] plot::HeatMap latency_map(const Report& report);
// Heat maps of connections and of procedures, those with the most time first.
[[nodiscard]] std::vector<plot::HeatMap> connection_maps(const Report& report);
[[nodiscard]] std::vector<plot::HeatMap> procedure_maps(const Report& report);
[[nodiscard]] plot::Histogram latency_histogram(const Report& report);

}  // namespace rpcrdma::report
