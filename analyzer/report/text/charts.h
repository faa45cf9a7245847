// A report's series and distributions as pictures to be drawn. Times are seconds from the first
// frame.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <rpcrdma/plot/chart.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Requested, granted and in use; for each direction that has Calls, of the connections that matter
// most, at most `count` pictures.
[[nodiscard]] std::vector<plot::Chart> credit_charts(const Report& report, std::size_t count);
// How many credit_charts() gives without a limit.
[[nodiscard]] std::size_t count_credit_charts(const Report& report);

// Without points when nothing is to be shown; such a picture is drawn as nothing.
[[nodiscard]] plot::Chart call_rate_chart(const Report& report);
[[nodiscard]] plot::Chart byte_rate_chart(const Report& report);
[[nodiscard]] plot::Chart outstanding_chart(const Report& report);
[[nodiscard]] plot::Chart trouble_chart(const Report& report);  // packets sent again, NAKs
[[nodiscard]] plot::Chart latency_chart(const Report& report);
[[nodiscard]] plot::Chart slow_calls_chart(const Report& report);
[[nodiscard]] plot::HeatMap latency_map(const Report& report);
[[nodiscard]] plot::Histogram latency_histogram(const Report& report);

}  // namespace rpcrdma::report
