// Handmade records of the formats that are not libpcap's.
#pragma once

#include "capture_for_tests.h"

namespace rpcrdma::capture {

// Endace's format: times little-endian, lengths big-endian.
struct ErfRecord {
  std::uint64_t time = 0;
  std::uint8_t type = 2;  // Ethernet
  std::uint8_t flags = 4;
  std::uint16_t lost = 0;
  std::uint16_t on_wire = 0;  // 0: all of the data
  ByteVector extensions{};
  std::size_t padding = 0;

  [[nodiscard]] ByteVector with(const ByteVector& data) const {
    const Writer le;
    const Writer be{.big = true};
    const ByteVector pad(type == 2 || type == 11 || type == 16 || type == 20 ? 2 : 0);
    const std::size_t length = 16 + extensions.size() + pad.size() + data.size() + padding;
    const auto first = static_cast<std::uint8_t>(type | (extensions.empty() ? 0 : 0x80));
    return le.u64(time) + ByteVector{first, flags} + be.u16(length) + be.u16(lost) +
           be.u16(on_wire == 0 ? data.size() : on_wire) + extensions + pad + data +
           ByteVector(padding);
  }
};

// Seconds and a fraction in 2^-32 s.
inline std::uint64_t erf_time(std::uint64_t seconds, std::uint32_t fraction = 0) {
  return seconds << 32 | fraction;
}

inline ByteVector snoop_header(std::uint32_t datalink = 4, std::uint32_t version = 2) {
  const Writer be{.big = true};
  return from_hex("736e6f6f70000000") + be.u32(version) + be.u32(datalink);
}

inline ByteVector snoop_record(std::uint32_t seconds, std::uint32_t microseconds, ByteVector data,
                               std::uint32_t original = 0, std::uint32_t dropped = 0) {
  const Writer be{.big = true};
  const std::size_t captured = data.size();
  data.resize((captured + 3) / 4 * 4);
  return be.u32(original == 0 ? captured : original) + be.u32(captured) + be.u32(24 + data.size()) +
         be.u32(dropped) + be.u32(seconds) + be.u32(microseconds) + data;
}

}  // namespace rpcrdma::capture
