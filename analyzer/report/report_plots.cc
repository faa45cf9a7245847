#include "text/charts.h"

#include <rpcrdma/plot/terminal.h>
#include <rpcrdma/report/report_plots.h>

namespace rpcrdma::report {

std::string report_plots(const Report& report, const PlotOptions& options) {
  constexpr std::size_t kCreditCharts = 3;
  const plot::Terminal terminal{options.width, 8, options.utf8, options.colour};
  std::string out;
  const auto draw = [&](const auto& picture) {
    const std::string text = plot::to_terminal(picture, terminal);
    if (!text.empty()) out += '\n' + text;
  };
  for (const plot::Chart& chart : credit_charts(report, kCreditCharts)) draw(chart);
  draw(call_rate_chart(report));
  draw(byte_rate_chart(report));
  draw(trouble_chart(report));
  if (any_congestion(report)) draw(congestion_chart(report));
  draw(latency_chart(report));
  draw(latency_histogram(report));
  return out;
}

}  // namespace rpcrdma::report
