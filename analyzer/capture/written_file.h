// What all files have in common that captured frames are written to.
#pragma once

#include <cstddef>

#include <sys/types.h>

namespace rpcrdma::capture {

inline constexpr std::size_t kFlushBytes = std::size_t{256} << 10;
// Packets hold what users read and write: nobody else may read the file.
inline constexpr mode_t kFileMode = 0600;

}  // namespace rpcrdma::capture
