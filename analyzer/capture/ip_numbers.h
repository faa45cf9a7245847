// Ethernet and IP protocol numbers, used to find the RoCE packet in a frame and to name the content
// of other frames.
#pragma once

#include <cstdint>

namespace rpcrdma::capture {

inline constexpr std::uint16_t kEtherIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherRoceV1 = 0x8915;

// IP protocol numbers and IPv6 next headers.
inline constexpr std::uint8_t kHopByHop = 0;
inline constexpr std::uint8_t kIpTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kRouting = 43;
inline constexpr std::uint8_t kIpv6Fragment = 44;
inline constexpr std::uint8_t kDestinationOptions = 60;

// The decoder follows at most this many of them.
inline constexpr int kMaxTags = 8;
inline constexpr int kMaxExtensions = 8;

}  // namespace rpcrdma::capture
