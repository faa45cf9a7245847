// The invariant CRC of InfiniBand and RoCE packets (IBA volume 1 section 7.8.1, annexes A16, A17):
// CRC-32 over all fields that no switch or router may change, with ones in place of the variable
// fields.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

// The headers in front of the BTH that the ICRC covers.
enum class IcrcKind : std::uint8_t {
  kRoceV2Ipv4,  // IPv4 header (options allowed), UDP
  kRoceV2Ipv6,  // IPv6 header, UDP
  kRoceV1,      // GRH
  kNativeGrh,   // LRH, GRH
  kNative,      // LRH
};

inline constexpr std::size_t kIcrcBytes = 4;
// The byte of a BTH with FECN, BECN and reserved bits, which the ICRC always replaces by ones.
inline constexpr std::size_t kVariantBthByte = 4;

// `packet` runs from the first byte of the header that IcrcKind names to the end of the payload and
// pad, without the four bytes of ICRC; `bth` is the offset of the BTH in it. Bytes between the
// named headers (IPv4 options, IPv6 extension headers) are covered unmasked. Returns the value in
// host order; store_icrc() writes it to the wire, least significant byte first. Returns 0 if `bth`
// leaves no room for the named headers before it or for a BTH after it; never reads beyond
// `packet`.
[[nodiscard]] std::uint32_t icrc(IcrcKind kind, Bytes packet, std::size_t bth);

// The same for a packet whose headers are in a separate buffer: `headers` holds the headers that
// IcrcKind names and any bytes between them, `rest` runs from the BTH on.
[[nodiscard]] std::uint32_t icrc(IcrcKind kind, Bytes headers, Bytes rest);

// Continues a value of icrc() over the bytes that follow, for a packet in more than two pieces.
[[nodiscard]] std::uint32_t icrc_continued(std::uint32_t begun, Bytes more);

// Recovers an unknown word of a packet from its ICRC, since CRCs are linear. Two packets
// differ only within four consecutive unmasked bytes, followed by `behind` bytes up to the ICRC,
// and `difference` is the XOR of their ICRCs. Returns the XOR of the four bytes, the first one in
// the upper bits. Every difference has exactly one such word, so an impossible word means that the
// packets differ elsewhere. `behind` counts modulo 65536.
[[nodiscard]] std::uint32_t icrc_word_difference(std::uint32_t difference, std::size_t behind);

// Reads the four bytes of an ICRC on the wire into the form that icrc() returns.
[[nodiscard]] inline std::uint32_t load_icrc(const std::uint8_t* p) {
  return std::uint32_t{p[0]} | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 |
         std::uint32_t{p[3]} << 24;
}

inline void store_icrc(std::uint8_t* p, std::uint32_t icrc) {
  p[0] = static_cast<std::uint8_t>(icrc);
  p[1] = static_cast<std::uint8_t>(icrc >> 8);
  p[2] = static_cast<std::uint8_t>(icrc >> 16);
  p[3] = static_cast<std::uint8_t>(icrc >> 24);
}

}  // namespace rpcrdma::wire
