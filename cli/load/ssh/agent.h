// `rpcrdma load --agent`: one rank of a load whose coordinator is at the other end of standard
// input and output, through ssh. It ends, and its load stops, when its input ends.
#pragma once

namespace rpcrdma::cli {

// Returns the exit status.
[[nodiscard]] int run_load_agent();

}  // namespace rpcrdma::cli
