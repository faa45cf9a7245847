// For the tests of this folder: bytes from hex text, and a check of decode errors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

// "0001 ab" is three bytes; blanks are ignored.
inline std::vector<std::uint8_t> hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::uint8_t> bytes;
  bool high = true;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;
    if (high) {
      bytes.push_back(static_cast<std::uint8_t>(digit << 4));
    } else {
      bytes.back() = static_cast<std::uint8_t>(bytes.back() | digit);
    }
    high = !high;
  }
  return bytes;
}

template <typename T>
void expect_error(const Result<T>& result, Errc code, std::uint32_t offset, const char* rule) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code) << describe(result.error());
  EXPECT_EQ(result.error().offset, offset) << describe(result.error());
  EXPECT_STREQ(result.error().rule, rule);
  EXPECT_STRNE(result.error().what, "");
}

}  // namespace rpcrdma::wire
