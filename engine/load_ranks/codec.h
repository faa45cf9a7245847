// Numbers, texts and histograms as bytes: unsigned LEB128 numbers, zigzag for signed ones. A reader
// of untrusted bytes: after an error it returns zeros, and the caller checks once at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/load/hdr_histogram.h>

namespace rpcrdma::load_ranks {

class ByteWriter {
 public:
  void number(std::uint64_t value);
  void signed_number(std::int64_t value);
  void flag(bool value) { number(value ? 1 : 0); }
  void text(std::string_view text, std::size_t most);  // a longer one is cut
  void histogram(const base::Histogram& h);
  void histogram(const load::HdrHistogram& h);
  void magic(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }

  [[nodiscard]] std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  // Up to `most`, else it is an error.
  [[nodiscard]] std::uint64_t number(std::uint64_t most = UINT64_MAX);
  [[nodiscard]] std::uint32_t number32(std::uint32_t most = UINT32_MAX) {
    return static_cast<std::uint32_t>(number(most));
  }
  [[nodiscard]] std::int64_t signed_number();
  [[nodiscard]] bool flag() { return number(1) != 0; }
  // Bytes that are not printable ASCII become question marks.
  [[nodiscard]] std::string text(std::size_t most);
  // How many elements follow: not more than there are bytes, so that memory is bounded by the
  // input.
  [[nodiscard]] std::size_t count(std::uint64_t most);
  [[nodiscard]] base::Histogram histogram();
  [[nodiscard]] load::HdrHistogram hdr_histogram();
  [[nodiscard]] bool magic(std::string_view text);

  void fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
  bool failed_ = false;
};

}  // namespace rpcrdma::load_ranks
