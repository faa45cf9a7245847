// Lines about Calls on their way, and about what delays them on the network.
#pragma once

#include <cstddef>

#include <rpcrdma/top/draw.h>
#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

// " Now in   slot ?  credit 3 ...": "?" is unknown, "3+" at least 3, "~3" an estimate. `name`: at
// most eight letters.
[[nodiscard]] Line states_line(const char* name, const states::Counts& counts, std::size_t width,
                               bool utf8);

// " Device/s mlx5_0/1  out of seq 0  RNR 3 ..."
[[nodiscard]] Line network_line(const ShownNetwork& network, std::size_t width, bool utf8);

// The names of the columns of ends_line().
[[nodiscard]] Line ends_names(std::size_t width, bool utf8);
[[nodiscard]] Line ends_line(const ShownEnds& ends, std::size_t width, bool utf8);

}  // namespace rpcrdma::top
