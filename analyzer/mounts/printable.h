// Bytes of a capture as text that any output may contain.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/mounts/mounts.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::mounts {

[[nodiscard]] inline std::string hex(wire::Bytes bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// ASCII without control characters stays; anything else is written in hexadecimal digits.
[[nodiscard]] inline std::string printable(wire::Bytes bytes) {
  const wire::Bytes front = bytes.first(std::min(bytes.size(), kMaxText));
  const bool text = std::all_of(front.begin(), front.end(),
                                [](std::uint8_t c) { return c >= 0x20 && c <= 0x7e; });
  if (text) return std::string(base::as_text(front));
  return fmt::format("0x{}", hex(front.first(std::min(front.size(), kMaxText / 4))));
}
[[nodiscard]] inline std::string printable(std::string_view text) {
  return printable(base::as_bytes(text));
}

}  // namespace rpcrdma::mounts
