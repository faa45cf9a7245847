// Decompresses Zstandard (RFC 8878), any number of frames, with libzstd.
#pragma once

#include "byte_stream.h"

#include <memory>

namespace rpcrdma::capture {

[[nodiscard]] std::unique_ptr<ByteStream> inflate_zstd(std::unique_ptr<ByteStream> compressed);

}  // namespace rpcrdma::capture
