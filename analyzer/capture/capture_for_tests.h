// Handmade capture files, and walks that collect everything a source returns.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

using ByteVector = std::vector<std::uint8_t>;

inline ByteVector operator+(ByteVector a, const ByteVector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline ByteVector from_hex(const std::string& text) {
  ByteVector bytes;
  std::string digits;
  for (const char c : text) {
    if (c != ' ' && c != '\n') digits += c;
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// Writes numbers in the byte order of an imaginary machine.
struct Writer {
  bool big = false;

  [[nodiscard]] ByteVector number(std::uint64_t v, int bytes) const {
    ByteVector out;
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (big ? bytes - 1 - i : i);
      out.push_back(static_cast<std::uint8_t>(v >> shift));
    }
    return out;
  }
  [[nodiscard]] ByteVector u16(std::uint64_t v) const { return number(v, 2); }
  [[nodiscard]] ByteVector u32(std::uint64_t v) const { return number(v, 4); }
  [[nodiscard]] ByteVector u64(std::uint64_t v) const { return number(v, 8); }

  // pcap.
  [[nodiscard]] ByteVector pcap_header(std::uint32_t magic = 0xa1b2c3d4, std::uint32_t link = 1,
                                       std::uint32_t snaplen = 65535) const {
    return u32(magic) + u16(2) + u16(4) + u32(0) + u32(0) + u32(snaplen) + u32(link);
  }
  [[nodiscard]] ByteVector record(std::uint32_t seconds, std::uint32_t fraction,
                                  const ByteVector& data, std::uint32_t original = 0) const {
    return u32(seconds) + u32(fraction) + u32(data.size()) +
           u32(original == 0 ? data.size() : original) + data;
  }

  // pcapng.
  [[nodiscard]] ByteVector block(std::uint32_t type, ByteVector body) const {
    body.resize((body.size() + 3) / 4 * 4);
    const ByteVector total = u32(body.size() + 12);
    return u32(type) + total + body + total;
  }
  [[nodiscard]] ByteVector option(std::uint16_t code, ByteVector value) const {
    const ByteVector head = u16(code) + u16(value.size());
    value.resize((value.size() + 3) / 4 * 4);
    return head + value;
  }
  [[nodiscard]] ByteVector section(std::uint64_t length = ~std::uint64_t{0}) const {
    return block(0x0a0d0d0a, u32(0x1a2b3c4d) + u16(1) + u16(0) + u64(length));
  }
  [[nodiscard]] ByteVector interface(std::uint16_t link = 1, const ByteVector& options = {},
                                     std::uint32_t snaplen = 0) const {
    return block(1, u16(link) + u16(0) + u32(snaplen) + options);
  }
  [[nodiscard]] ByteVector packet(std::uint32_t interface, std::uint64_t ticks, ByteVector data,
                                  const ByteVector& options = {}) const {
    const std::size_t size = data.size();
    data.resize((size + 3) / 4 * 4);
    return block(6, u32(interface) + u32(ticks >> 32) + u32(ticks & 0xffffffff) + u32(size) +
                        u32(size) + data + options);
  }
};

// A frame that outlives the next one.
struct Taken {
  Frame frame;
  ByteVector data;
};

struct Walk {
  std::vector<Taken> frames;
  SourceStats stats;
  std::string error;  // from opening or reading
};

inline Walk walk(Expected<std::unique_ptr<Source>> source) {
  Walk result;
  if (!source) {
    result.error = source.error().message;
    return result;
  }
  Frame frame;
  for (;;) {
    const auto more = (*source)->next(frame);
    if (!more) result.error = more.error().message;
    if (!more || !*more) break;
    result.frames.push_back({frame, {frame.data.begin(), frame.data.end()}});
  }
  result.stats = (*source)->stats();
  return result;
}

inline Walk walk_memory(const ByteVector& bytes) {
  return walk(open_memory(bytes));
}

inline ByteVector read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_all(const std::string& path, std::span<const std::uint8_t> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

// A folder for one test, empty at its start.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = ::testing::TempDir() + "capture_test_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    for (const std::string& file : files_) ::unlink(file.c_str());
    ::rmdir(folder_.c_str());
  }

  std::string path(const std::string& name) {
    files_.push_back(folder_ + "/" + name);
    return files_.back();
  }
  std::string file(const std::string& name, std::span<const std::uint8_t> bytes) {
    const std::string where = path(name);
    write_all(where, bytes);
    return where;
  }

 private:
  std::string folder_;
  std::vector<std::string> files_;
};

inline std::string real_capture(const std::string& name) {
  return std::string(RPCRDMA_TEST_CAPTURES) + "/" + name;
}

}  // namespace rpcrdma::capture
