// Compressed forms of test data.
#pragma once

#include "capture_for_tests.h"

#include <vector>

#include <bzlib.h>
#include <isa-l/igzip_lib.h>
#include <lz4frame.h>
#include <lzma.h>
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

// With a dictionary of that many bytes, which the decoder must allocate.
inline ByteVector xz_with(const ByteVector& bytes, std::uint32_t dictionary) {
  lzma_options_lzma options;
  EXPECT_EQ(lzma_lzma_preset(&options, 0), 0);
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  ByteVector out(lzma_stream_buffer_bound(bytes.size()));
  // The encoder would allocate a multiple of the dictionary: it encodes with a small one, and the
  // header announces the other.
  options.dict_size = 1 << 16;
  std::size_t size = 0;
  EXPECT_EQ(lzma_stream_buffer_encode(const_cast<lzma_filter*>(filters), LZMA_CHECK_CRC32, nullptr,
                                      bytes.data(), bytes.size(), out.data(), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  if (bytes.empty()) return out;
  // Block header: size, flags, (sizes), filter 0x21 with one byte of properties, padding, CRC-32.
  const std::size_t block = LZMA_STREAM_HEADER_SIZE;
  const std::size_t length = (std::size_t{out[block]} + 1) * 4;
  for (std::size_t i = block + 2; i + 2 < block + length; ++i) {
    if (out[i] == 0x21 && out[i + 1] == 1) {
      std::uint8_t code = 0;  // the size is 2 or 3 times a power of two
      while ((std::uint64_t{2} | (code & 1)) << (code / 2 + 11) < dictionary) ++code;
      out[i + 2] = code;
      break;
    }
  }
  const std::uint32_t crc = lzma_crc32(out.data() + block, length - 4, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    out[block + length - 4 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
  return out;
}

inline ByteVector xz(const ByteVector& bytes) {
  return xz_with(bytes, 1 << 16);
}

inline ByteVector bzip2(const ByteVector& bytes) {
  ByteVector out(bytes.size() + bytes.size() / 50 + 1024);
  ByteVector in = bytes;
  in.push_back(0);  // an empty vector has no address
  auto size = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &size,
                                     reinterpret_cast<char*>(in.data()),
                                     static_cast<unsigned>(bytes.size()), 1, 0, 0),
            BZ_OK);
  out.resize(size);
  return out;
}

inline ByteVector lz4(const ByteVector& bytes) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  ByteVector out(LZ4F_compressFrameBound(bytes.size(), &preferences));
  const std::size_t size =
      LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), &preferences);
  EXPECT_EQ(LZ4F_isError(size), 0U);
  out.resize(size);
  return out;
}

}  // namespace rpcrdma::capture
