// The invariant CRC of InfiniBand and RoCE packets (IBA volume 1 section 7.8.1, annexes A16, A17):
// CRC-32 over all that no switch or router may change, with the variable fields taken as ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

// What stands in front of the BTH, as far as the ICRC covers it.
enum class IcrcKind : std::uint8_t {
  kRoceV2Ipv4,  // IPv4 header (options allowed), UDP
  kRoceV2Ipv6,  // IPv6 header, UDP
  kRoceV1,      // GRH
  kNativeGrh,   // LRH, GRH
  kNative,      // LRH
};

inline constexpr std::size_t kIcrcBytes = 4;
// FECN, BECN and reserved bits: the byte of a BTH that the ICRC takes as ones, whatever it is.
inline constexpr std::size_t kVariantBthByte = 4;

// `packet` runs from the first byte of the header that IcrcKind names up to, not including, the
// four bytes of ICRC; `bth` is the offset of the BTH in it. What stands between the named headers
// (IPv4 options, IPv6 extension headers) is covered as it is. Returns the value in host order such
// that store_icrc() (its least significant byte first) gives the wire's bytes. A `bth` that leaves
// no room for the named headers in front of it or for a BTH behind it gives 0; nothing beyond
// `packet` is read.
[[nodiscard]] std::uint32_t icrc(IcrcKind kind, Bytes packet, std::size_t bth);

// The same of a packet that does not lie behind its headers: `headers` are those that IcrcKind
// names with what stands between them, `rest` runs from the BTH on.
[[nodiscard]] std::uint32_t icrc(IcrcKind kind, Bytes headers, Bytes rest);

// A CRC is linear, so where one word of a packet is not known its ICRC tells it. Two packets differ
// in no more than four unmasked bytes in a row, behind which `behind` bytes follow up to the ICRC,
// and their ICRCs by `difference` (one XOR the other): returns by what those four bytes differ, the
// first one in the upper bits. Every difference has exactly one such word; hence one that cannot be
// says that the packets differ elsewhere. `behind` counts modulo 65536.
[[nodiscard]] std::uint32_t icrc_word_difference(std::uint32_t difference, std::size_t behind);

// Reads the four bytes of an ICRC from the wire into the form that icrc() returns.
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
