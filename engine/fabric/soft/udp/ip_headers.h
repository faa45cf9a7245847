// The IP and UDP headers that the kernel puts in front of a RoCEv2 datagram. The ICRC covers them,
// and packet logs contain them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/fabric/address.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::soft {

// Both addresses are of one IP version.
struct Flow {
  const fabric::Address& from;
  const fabric::Address& to;
  std::uint16_t source_port;
};

inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::uint8_t kUdp = 17;  // IP protocol number
// Maximum payload of a datagram, for either IP version.
inline constexpr std::size_t kMaxDatagramBytes = 65535 - kIpv4Bytes - kUdpBytes;

struct IpHeaders {
  std::array<std::uint8_t, kIpv6Bytes + kUdpBytes> bytes;
  std::size_t size;

  [[nodiscard]] wire::Bytes span() const { return {bytes.data(), size}; }
};

inline wire::IcrcKind icrc_kind(const Flow& flow) {
  return flow.from.ipv6 ? wire::IcrcKind::kRoceV2Ipv6 : wire::IcrcKind::kRoceV2Ipv4;
}

// `content`: bytes after the UDP header, at most kMaxDatagramBytes. Don't-fragment is set, time to
// live is 64, both checksums are zero. `ip_id` is for IPv4 only.
[[nodiscard]] IpHeaders ip_headers(const Flow& flow, std::uint16_t ip_id, std::size_t content);

// Adds the ones' complement sum of `bytes` (RFC 1071) to `sum`, not yet folded or inverted. May be
// continued only after an even number of bytes.
[[nodiscard]] std::uint64_t checksum_add(std::uint64_t sum, wire::Bytes bytes);
[[nodiscard]] std::uint16_t checksum_end(std::uint64_t sum);

}  // namespace rpcrdma::soft
