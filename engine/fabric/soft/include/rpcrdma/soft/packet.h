// A transport packet on its way out of the sans-I/O core: everything from the BTH to the pad bytes,
// still in parts. The carrier (UDP socket, simulated link) appends the ICRC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// The addresses of a packet. The UDP source port keeps a connection's packets on one network path
// (annex A17); it does not change while the connection lives.
struct Path {
  fabric::Address local;
  fabric::Address remote;
  std::uint16_t udp_source_port = 0xc000;

  friend bool operator==(const Path&, const Path&) = default;
};

// Enough for BTH, DETH and the longest RC extension headers (12 + 8 and 12 + 28 bytes).
inline constexpr std::size_t kMaxHeaderBytes = 40;

struct OutPacket {
  const Path* path = nullptr;  // valid, like the bytes behind `payload`, until the core's next call
  std::array<std::uint8_t, kMaxHeaderBytes> header;
  std::uint32_t header_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::array<wire::Bytes, fabric::kMaxSlices> payload;
  std::uint8_t payload_parts = 0;
  std::uint8_t pad_bytes = 0;  // zeros after the payload: 0..3
  // The payload is in registered memory: it stays where it is until the core's owner is called.
  bool payload_stays = false;

  // From the BTH through the pad bytes, without the ICRC.
  [[nodiscard]] std::size_t size() const { return header_bytes + payload_bytes + pad_bytes; }
};

}  // namespace rpcrdma::soft
