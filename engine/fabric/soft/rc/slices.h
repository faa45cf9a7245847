// The memory of a work request as one sequence of bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <rpcrdma/fabric/work.h>
#include <rpcrdma/soft/packet.h>

namespace rpcrdma::soft {

// The maximum size of a message (IBA 9.7.6), in bytes.
inline constexpr std::uint32_t kMaxMessage = 1U << 31;

struct Slices {
  std::array<fabric::Slice, fabric::kMaxSlices> slice;
  std::uint8_t count = 0;
  std::uint32_t length = 0;  // total, bytes

  // Calls f(part) for each piece of the `bytes` that begin at `offset`, up to the end.
  template <typename Function>
  void for_range(std::uint32_t offset, std::uint32_t bytes, Function&& f) const {
    for (std::size_t i = 0; i < count && bytes > 0; ++i) {
      if (offset >= slice[i].length) {
        offset -= slice[i].length;
        continue;
      }
      const std::uint32_t part = std::min(slice[i].length - offset, bytes);
      f(wire::MutableBytes(slice[i].data + offset, part));
      offset = 0;
      bytes -= part;
    }
  }

  void gather(std::uint32_t offset, std::uint32_t bytes, OutPacket& out) const {
    for_range(offset, bytes, [&](wire::MutableBytes part) {
      out.payload[out.payload_parts++] = part;
      out.payload_bytes += static_cast<std::uint32_t>(part.size());
    });
  }

  void scatter(std::uint32_t offset, wire::Bytes from) const {
    for_range(offset, static_cast<std::uint32_t>(from.size()), [&](wire::MutableBytes part) {
      std::memcpy(part.data(), from.data(), part.size());
      from = from.subspan(part.size());
    });
  }
};

}  // namespace rpcrdma::soft
