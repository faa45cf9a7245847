// Text as bytes, and bytes as text, without a copy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rpcrdma::base {

[[nodiscard]] inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace rpcrdma::base
