// The encapsulations around a packet: what a mirror port, an overlay network or a provider's
// network put in front of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/capture/address.h>

namespace rpcrdma::capture {

enum class TunnelKind : std::uint8_t {
  kVxlan,
  kVxlanGpe,
  kGeneve,
  kGre,
  kGreInUdp,
  kErspan1,
  kErspan2,
  kErspan3,
  kMpls,
  kMplsInUdp,
  kPseudowire,  // Ethernet behind MPLS labels
  kPppoe,
  kIpInIp,
  kSixInFour,
  kFourInSix,
  kSixInSix,
  kEtherIp,
  kSrv6,
  kGtpU,
  kGue,
  kLisp,
  kTzsp,
  kNsh,
  kVnTag,
  kETag,
  kCiscoMetadata,
  kMacsec,
  kProviderBackbone,
  kTrill,
  kFabricPath,
};
// "VXLAN", "ERSPAN II"
[[nodiscard]] const char* tunnel_name(TunnelKind kind);
// "VNI"; null: the kind has no key.
[[nodiscard]] const char* tunnel_key_name(TunnelKind kind);

// The encapsulations around one packet, the outermost first.
struct Tunnels {
  static constexpr std::size_t kMost = 8;
  static constexpr std::uint16_t kNoSession = 0xffff;

  std::uint8_t count = 0;  // 0: all other members are invalid
  std::uint8_t keyed = 0;  // bit n: the n-th has a key
  std::uint16_t erspan_session = kNoSession;
  std::array<TunnelKind, kMost> kind{};
  // VXLAN and GENEVE: VNI; GRE: key; MPLS: bottom label; PPPoE: session; GTP-U: TEID; NSH: service
  // path; PBB: I-SID; Cisco metadata: security group tag.
  std::array<std::uint32_t, kMost> key{};
  // Of the outermost IP packet that carries a tunnel; kNone: there is none.
  Address src;
  Address dst;

  [[nodiscard]] bool has_key(std::size_t n) const { return (keyed >> n & 1U) != 0; }
  friend bool operator==(const Tunnels& a, const Tunnels& b);
};

}  // namespace rpcrdma::capture
