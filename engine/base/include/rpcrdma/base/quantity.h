// Durations and sizes as people read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rpcrdma::base {

// "873 ns", "18.2 us", "1.87 ms", "2.050 s"; "-" for a negative one. Without an allocation.
class DurationText {
 public:
  explicit DurationText(std::int64_t ns) { format(ns); }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  void format(std::int64_t ns);
  void put(std::string_view text);
  // `ns` of `unit` with so many decimals, as an integer.
  void put_rounded(std::uint64_t ns, std::uint64_t unit, unsigned decimals, bool all);

  std::array<char, 32> text_{};
  std::size_t size_ = 0;
};
[[nodiscard]] std::string format_duration(std::int64_t ns);
// "5003 B", "64 KiB", "1.5 MiB"
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace rpcrdma::base
