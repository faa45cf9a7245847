// Padding of an RDMA_MSGP, which is no part of its RPC message (RFC 5666 section 3.9): the content
// of a counted opaque of `thresh` bytes or more is preceded by as many bytes as align it to a
// multiple of `align` in the Receive. Offsets are counted from the beginning of the Send, which is
// what a Receive holds; the RFC leaves that open.
//
// RFC 8166 section 4.6 removed it from the protocol.
#pragma once

#include <cstdint>

namespace rpcrdma::protocol {

struct Padding {
  std::uint32_t align = 0;  // bytes; 0: no padding
  std::uint32_t thresh = 0;
  std::uint32_t origin = 0;  // of a received stream: its offset in its Send

  // Returns the padding before content of `length` bytes at this offset in the stream.
  [[nodiscard]] constexpr std::uint32_t before(std::uint64_t place, std::uint64_t length) const {
    if (align == 0 || length < thresh) return 0;
    return static_cast<std::uint32_t>((align - (origin + place) % align) % align);
  }
};

// A page. More would only waste Receive space, and is not accepted.
inline constexpr std::uint32_t kMaxAlign = 4096;

}  // namespace rpcrdma::protocol
