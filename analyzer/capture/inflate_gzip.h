// Decompresses gzip (RFC 1952), any number of members, with ISA-L.
#pragma once

#include "byte_stream.h"

#include <memory>

namespace rpcrdma::capture {

[[nodiscard]] std::unique_ptr<ByteStream> inflate_gzip(std::unique_ptr<ByteStream> compressed);

}  // namespace rpcrdma::capture
