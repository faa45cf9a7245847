#pragma once

#include <vector>

#include <rpcrdma/plot/chart.h>

namespace rpcrdma::plot {

// Regroups counts into buckets of a logarithmic scale with `per_decade` buckets from 1 to 10; with
// 3 the edges are 1, 2 and 5. The result spans the first to the last non-empty bucket, empty ones
// between included. An input bucket that crosses an edge counts where its middle is.
[[nodiscard]] std::vector<Bucket> regroup(const std::vector<Bucket>& buckets, int per_decade);

}  // namespace rpcrdma::plot
