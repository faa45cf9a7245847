// Compressed forms of test data.
#pragma once

#include "capture_for_tests.h"

#include <vector>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

namespace rpcrdma::capture {

inline ByteVector gzip(ByteVector bytes) {
  ByteVector out(bytes.size() + bytes.size() / 8 + 1024);
  ByteVector level_buffer(ISAL_DEF_LVL1_DEFAULT);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.level = 1;
  stream.level_buf = level_buffer.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level_buffer.size());
  stream.next_in = bytes.data();
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  stream.end_of_stream = 1;
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

inline ByteVector zstd(const ByteVector& bytes) {
  ByteVector out(ZSTD_compressBound(bytes.size()));
  const std::size_t n = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  EXPECT_EQ(ZSTD_isError(n), 0u);
  out.resize(n);
  return out;
}

}  // namespace rpcrdma::capture
