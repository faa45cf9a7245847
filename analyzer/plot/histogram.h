#pragma once

#include <vector>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

// The same counts in buckets of a logarithmic scale, `per_decade` of them from 1 to 10; with 3 they
// end at 1, 2 and 5. From the first that is not empty to the last; those between are kept. A bucket
// that lies across an edge counts where its middle is.
[[nodiscard]] std::vector<Bucket> regroup(const std::vector<Bucket>& buckets, int per_decade);

}  // namespace rpcrdma::plot
