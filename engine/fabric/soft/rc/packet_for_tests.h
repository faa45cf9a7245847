// For the tests of this folder: packets in the form of the core.
#pragma once

#include "support/wire_bytes.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/soft/packet.h>

namespace rpcrdma::soft {

using wire::hex;

inline std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(seed >> 24);
  }
  return bytes;
}

// A SEND Only of one part to the QP 0x12 with the given PSN.
inline OutPacket send_only(const Path& path, wire::Bytes payload, std::uint8_t psn) {
  OutPacket packet;
  packet.path = &path;
  packet.pad_bytes = static_cast<std::uint8_t>((4 - payload.size() % 4) % 4);
  packet.header = {
      0x04, static_cast<std::uint8_t>(packet.pad_bytes << 4), 0xff, 0xff, 0, 0, 0, 0x12, 0x80, 0, 0,
      psn};
  packet.header_bytes = 12;
  packet.payload_bytes = static_cast<std::uint32_t>(payload.size());
  packet.payload[0] = payload;
  packet.payload_parts = 1;
  return packet;
}

// Returns the packet's bytes from the BTH through the pad bytes.
inline std::vector<std::uint8_t> flat(const OutPacket& packet) {
  std::vector<std::uint8_t> bytes(packet.header.begin(),
                                  packet.header.begin() + packet.header_bytes);
  for (std::size_t i = 0; i < packet.payload_parts; ++i) {
    bytes.insert(bytes.end(), packet.payload[i].begin(), packet.payload[i].end());
  }
  bytes.resize(bytes.size() + packet.pad_bytes);
  return bytes;
}

}  // namespace rpcrdma::soft
