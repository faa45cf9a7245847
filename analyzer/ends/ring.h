// Files that continue one another, as those of a ring, are one source.
#pragma once

#include <vector>

#include <rpcrdma/ends/half.h>

namespace rpcrdma::ends {

// Appends the halves of a later file to those of an earlier one if both show the same end of the
// same connection, one after the other.
void unite_rings(std::vector<SourceHalves>& sources);

}  // namespace rpcrdma::ends
