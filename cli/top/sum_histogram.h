// Latencies that a source counted in the kernel, as a base::Histogram.
#pragma once

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::top {

// Each of its buckets counts where its middle lies, so latencies are at most an eighth off.
[[nodiscard]] base::Histogram to_histogram(const trace_reader::SumLatencies& latencies);

}  // namespace rpcrdma::top
