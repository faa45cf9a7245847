// A transport packet on its way out of the sans-I/O core: everything from the BTH to the pad bytes,
// not yet copied together. Who carries it (UDP socket, simulated link) puts the ICRC behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// Between which addresses a packet goes. The UDP source port keeps a connection's packets on one
// path (annex A17): it does not change while the connection lives.
struct Path {
  fabric::Address local;
  fabric::Address remote;
  std::uint16_t udp_source_port = 0xc000;

  friend bool operator==(const Path&, const Path&) = default;
};

// BTH, DETH and the longest RC extension headers fit (12 + 8 and 12 + 28 bytes).
inline constexpr std::size_t kMaxHeaderBytes = 40;

struct OutPacket {
  const Path* path = nullptr;  // valid, as is what `payload` points to, until the core is called
  std::array<std::uint8_t, kMaxHeaderBytes> header;
  std::uint32_t header_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::array<wire::Bytes, fabric::kMaxSlices> payload;
  std::uint8_t payload_parts = 0;
  std::uint8_t pad_bytes = 0;  // zeros behind the payload: 0..3

  // From the BTH through the pad bytes, without the ICRC.
  [[nodiscard]] std::size_t size() const { return header_bytes + payload_bytes + pad_bytes; }
};

}  // namespace rpcrdma::soft
