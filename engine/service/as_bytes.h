// Text as the bytes that messages and events hold.
#pragma once

#include <cstdint>
#include <string_view>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::service {

[[nodiscard]] inline wire::Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace rpcrdma::service
