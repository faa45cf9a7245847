// For the tests of this folder: packets as the core gives them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <rpcrdma/soft/packet.h>

namespace rpcrdma::soft {

// "0001 ab" is three bytes; blanks are for the eye.
inline std::vector<std::uint8_t> hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::uint8_t> bytes;
  bool high = true;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;
    if (high) {
      bytes.push_back(static_cast<std::uint8_t>(digit << 4));
    } else {
      bytes.back() = static_cast<std::uint8_t>(bytes.back() | digit);
    }
    high = !high;
  }
  return bytes;
}

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

// What the packet is from the BTH through the pad bytes.
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
