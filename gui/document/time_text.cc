#include "time_text.h"

#include <fmt/core.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::gui {

QString time_text(std::int64_t ns, std::int64_t origin_ns, TimeFormat format) {
  // Microseconds, as most captures have them.
  if (format == TimeFormat::kAbsolute) {
    return QString::fromStdString(report::format_clock(ns)).left(15);
  }
  return QString::fromStdString(fmt::format("{:.6f}", static_cast<double>(ns - origin_ns) / 1e9));
}

}  // namespace rpcrdma::gui
