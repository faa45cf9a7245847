// What the kernel knows of this process, for the metrics that every exporter has.
#pragma once

#include <rpcrdma/metrics/snapshot.h>

namespace rpcrdma::metrics {

[[nodiscard]] ProcessFigures read_process();

}  // namespace rpcrdma::metrics
