// What an RDMA_MSGP says of bytes that are no part of its RPC message (RFC 5666 section 3.9): in
// front of the content of a counted opaque of `thresh` bytes or more stand as many as bring it to a
// multiple of `align`, so that it lies well in the Receive it comes to. Places are counted from the
// beginning of the Send, which is what a Receive holds; the text leaves that open.
//
// RFC 8166 section 4.6 took it out of the protocol again.
#pragma once

#include <cstdint>

namespace rpcrdma::protocol {

struct Padding {
  std::uint32_t align = 0;  // bytes; 0: nothing is padded
  std::uint32_t thresh = 0;
  std::uint32_t origin = 0;  // of a received stream: where it begins in its Send

  // Bytes in front of content of so many bytes, at this place of the stream.
  [[nodiscard]] constexpr std::uint32_t before(std::uint64_t place, std::uint64_t length) const {
    if (align == 0 || length < thresh) return 0;
    return static_cast<std::uint32_t>((align - (origin + place) % align) % align);
  }
};

// A page: more would only waste what Receives hold, and more is not accepted.
inline constexpr std::uint32_t kMaxAlign = 4096;

}  // namespace rpcrdma::protocol
