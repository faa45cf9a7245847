// CRC-32C (RFC 3720 section 12.1) over bytes that come in parts.
#pragma once

#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::service {

class Checksum {
 public:
  void add(wire::Bytes bytes);
  [[nodiscard]] std::uint32_t value() const { return ~crc_; }

 private:
  std::uint32_t crc_ = 0xffffffff;
};

}  // namespace rpcrdma::service
