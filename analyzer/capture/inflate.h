// Decompresses captures.
#pragma once

#include "byte_stream.h"

#include <memory>

namespace rpcrdma::capture {

// gzip (RFC 1952), any number of members, with ISA-L.
[[nodiscard]] std::unique_ptr<ByteStream> inflate_gzip(std::unique_ptr<ByteStream> compressed);
// Zstandard (RFC 8878), any number of frames, with libzstd.
[[nodiscard]] std::unique_ptr<ByteStream> inflate_zstd(std::unique_ptr<ByteStream> compressed);
// xz, any number of streams, with liblzma.
[[nodiscard]] std::unique_ptr<ByteStream> inflate_xz(std::unique_ptr<ByteStream> compressed);
// bzip2, any number of streams, with libbz2.
[[nodiscard]] std::unique_ptr<ByteStream> inflate_bzip2(std::unique_ptr<ByteStream> compressed);
// LZ4, any number of frames, with liblz4.
[[nodiscard]] std::unique_ptr<ByteStream> inflate_lz4(std::unique_ptr<ByteStream> compressed);

}  // namespace rpcrdma::capture
