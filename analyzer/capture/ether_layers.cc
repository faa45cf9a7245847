// Layers by ethertype: VLAN and other tags, MPLS, PPPoE, MACsec and NSH, and what they carry.
#include "ip_numbers.h"
#include "walk.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be16;
using wire::load_be24;
using wire::load_be32;
using Bytes = std::span<const std::uint8_t>;
using Kind = UnreadKind;

constexpr std::uint16_t kFirstEtherType = 0x0600;  // below: a length, IEEE 802.3

void grh(Walk& w) {
  w.stop(WalkEnd::kGrh);
}

void vlan(Walk& w) {
  constexpr std::uint16_t kVlan = 0x8100;
  if (w.tags++ == kMaxTags) return w.stop_unread(Kind::kEtherType, kVlan);
  if (const std::uint8_t* const p = w.take(4)) by_ethertype(w, load_be16(p + 2));
}

// A tag of `bytes` with the ethertype of what follows at its end.
void tag(Walk& w, TunnelKind kind, std::size_t bytes) {
  if (!w.enter(kind)) return;
  if (const std::uint8_t* const p = w.take(bytes)) by_ethertype(w, load_be16(p + bytes - 2));
}

void vn_tag(Walk& w) {
  tag(w, TunnelKind::kVnTag, 6);
}

void e_tag(Walk& w) {
  tag(w, TunnelKind::kETag, 8);
}

// Version, length in units of 8 bytes, options of 4 bytes, the ethertype of what follows.
void cisco_metadata(Walk& w) {
  constexpr std::uint16_t kGroupTag = 1, kTypeMask = 0x1fff;
  if (!w.enter(TunnelKind::kCiscoMetadata)) return;
  if (w.rest.size() < 2 || w.rest[1] == 0) return w.stop_in_tunnel();
  const std::size_t length = std::size_t{w.rest[1]} * 8;
  const std::uint8_t* const p = w.take(length);
  if (p == nullptr) return;
  if ((load_be16(p + 2) & kTypeMask) == kGroupTag) w.key(load_be16(p + 4));
  by_ethertype(w, load_be16(p + length - 2));
}

void provider_backbone(Walk& w) {
  if (!w.enter(TunnelKind::kProviderBackbone)) return;
  const std::uint8_t* const p = w.take(4);
  if (p == nullptr) return;
  w.key(load_be24(p + 1));
  w.next = ethernet;
}

void trill(Walk& w) {
  if (!w.enter(TunnelKind::kTrill)) return;
  const std::uint8_t* const p = w.take(6);
  if (p == nullptr) return;
  const std::size_t options = (std::size_t{load_be16(p)} >> 6 & 0x1fU) * 4;
  if (w.take(options) != nullptr) w.next = ethernet;
}

void fabric_path(Walk& w) {
  if (!w.enter(TunnelKind::kFabricPath)) return;
  if (w.take(2) != nullptr) w.next = ethernet;
}

// IEEE 802.1AE. Without encryption the frame is readable, and its integrity check value follows it.
void macsec(Walk& w) {
  constexpr std::uint8_t kHasSci = 0x20, kEncrypted = 0x08, kChanged = 0x04;
  constexpr std::size_t kIcv = 16;
  if (!w.enter(TunnelKind::kMacsec)) return;
  if (!w.rest.empty() && (w.rest[0] & (kEncrypted | kChanged)) != 0) {
    return w.stop_unread(Kind::kEncryptedMacsec);
  }
  const std::uint8_t* const p = w.take(6);
  if (p == nullptr || ((p[0] & kHasSci) != 0 && w.take(8) == nullptr)) return;
  const std::size_t short_length = p[1] & 0x3fU;  // 0: 48 bytes or more
  if (w.wire < kIcv) return w.stop_in_tunnel();
  w.limit(short_length != 0 ? short_length : w.wire - kIcv);
  if (const std::uint8_t* const type = w.take(2)) by_ethertype(w, load_be16(type));
}

// IEEE 802.3: a length, then LLC. Only SNAP with an ethertype can carry IP.
void llc(Walk& w, std::uint16_t length) {
  constexpr std::uint8_t kSnap[] = {0xaa, 0xaa, 0x03, 0, 0, 0};
  w.limit(length);
  if (w.rest.size() < sizeof kSnap + 2 ||
      !std::equal(std::begin(kSnap), std::end(kSnap), w.rest.begin())) {
    return w.stop(WalkEnd::kNothing);
  }
  const std::uint16_t type = load_be16(w.take(sizeof kSnap + 2) + sizeof kSnap);
  if (type < kFirstEtherType) return w.stop(WalkEnd::kNothing);
  by_ethertype(w, type);
}

void pseudowire(Walk& w) {
  if (w.enter(TunnelKind::kPseudowire)) w.next = ethernet;
}

// Returns whether bytes that begin like an IP packet are one. An Ethernet frame may begin with the
// same nibble, but hardly has an IP packet's length, and the packet hardly an ethertype in its
// source address.
bool is_ip(const Walk& w) {
  constexpr std::size_t kLongestHeader = 40;
  if (w.rest.size() < kLongestHeader) return true;  // its own layer finds out
  const std::uint8_t* const p = w.rest.data();
  const bool v6 = p[0] >> 4 == 6;
  const std::size_t length = v6 ? kLongestHeader + load_be16(p + 4) : load_be16(p + 2);
  return length == w.wire || (length < w.wire && !carries_frame(w.rest));
}

// MPLS does not name what follows its labels. The first nibble does, except that the address of an
// Ethernet frame may begin with any.
void behind_labels(Walk& w) {
  constexpr std::size_t kControlWord = 4;
  if (w.rest.size() < kControlWord) return w.stop_in_tunnel();
  const std::uint8_t nibble = w.rest[0] >> 4;
  if ((nibble == 4 || nibble == 6) && is_ip(w)) {
    w.next = any_ip;
    return;
  }
  const bool frame = carries_frame(w.rest);
  if (nibble == 0 && (!frame || carries_frame(w.rest.subspan(kControlWord)))) {
    (void)w.take(kControlWord);
    return pseudowire(w);
  }
  if (frame) return pseudowire(w);
  // An associated channel: operation and maintenance.
  if (nibble == 1) return w.stop(WalkEnd::kNothing);
  w.stop_in_tunnel();
}

// Pause frames, with and without classes.
void mac_control(Walk& w) {
  w.stop_unread(Kind::kPause);
}

// By protocol number of PPP.
void compressed_ppp(Walk& w) {
  w.stop_unread(Kind::kCompressedPpp);
}
constexpr LayerEntry kByPpp[] = {
    {0x0021, ipv4},           {0x0057, ipv6},           {0x0281, mpls},           {0x0283, mpls},
    {0x0053, compressed_ppp}, {0x00fb, compressed_ppp}, {0x00fd, compressed_ppp},
};

// Next protocols of NSH and VXLAN-GPE.
constexpr LayerEntry kByNsh[] = {{1, ipv4}, {2, ipv6}, {3, ethernet}, {4, nsh}, {5, mpls}};

// From IEEE's registry: first the types that carry frames or IP packets, then those known to carry
// no RDMA. Types not in this table are reported by number.
constexpr LayerEntry kByEthertype[] = {
    {kEtherIpv4, ipv4},
    {kEtherIpv6, ipv6},
    {0x8100, vlan},
    {0x88a8, vlan},
    {0x9100, vlan},
    {0x9200, vlan},
    {kEtherRoceV1, grh},
    {0x8847, mpls},
    {0x8848, mpls},
    {0x8864, pppoe},
    {0x8926, vn_tag},
    {0x893f, e_tag},
    {0x8909, cisco_metadata},
    {0x88e5, macsec},
    {0x894f, nsh},
    {0x88e7, provider_backbone},
    {0x22f3, trill},
    {0x8903, fabric_path},
    {0x6558, ethernet},  // in GRE, GENEVE and NSH
    {0x880b, ppp},       // in GRE
    {0x0806, nullptr},   // ARP
    {0x8035, nullptr},   // RARP
    {0x8808, mac_control},
    {0x8809, nullptr},  // LACP
    {0x8863, nullptr},  // PPPoE discovery
    {0x888e, nullptr},  // EAPOL
    {0x88a2, nullptr},  // AoE
    {0x88cc, nullptr},  // LLDP
    {0x88f7, nullptr},  // PTP
    {0x8902, nullptr},  // CFM
    {0x8906, nullptr},  // FCoE
    {0x8914, nullptr},  // FIP
    {0x8137, nullptr},  // IPX
    {0x8899, nullptr},  // Realtek loop detection
    {0x9000, nullptr},  // loopback test
};

}  // namespace

void by_ethertype(Walk& w, std::uint16_t type) {
  if (const LayerEntry* const known = find_layer(kByEthertype, type)) return follow(w, *known);
  if (type < kFirstEtherType) return llc(w, type);
  w.stop_unread(Kind::kEtherType, type);
}

bool carries_frame(Bytes bytes) {
  constexpr std::size_t kTypeAt = 12, kHeader = 14;
  return bytes.size() >= kHeader &&
         find_layer(kByEthertype, load_be16(bytes.data() + kTypeAt)) != nullptr;
}

void ethernet(Walk& w) {
  if (const std::uint8_t* const p = w.take(14)) by_ethertype(w, load_be16(p + 12));
}

// The bottom label identifies the service, except an entropy label (RFC 6790), which only spreads
// flows over paths.
void mpls_labels(Walk& w, TunnelKind kind) {
  constexpr int kMostLabels = 16;
  constexpr std::uint32_t kEntropyFollows = 7;
  if (!w.enter(kind)) return;
  bool entropy = false;
  for (int i = 0; i < kMostLabels; ++i) {
    const std::uint8_t* const p = w.take(4);
    if (p == nullptr) return;
    const std::uint32_t entry = load_be32(p);
    const std::uint32_t label = entry >> 12;
    if (!entropy && label != kEntropyFollows) w.key(label);
    entropy = label == kEntropyFollows;
    if ((entry & 0x100) != 0) return behind_labels(w);
  }
  w.stop_unread(Kind::kTooDeep);
}

void mpls(Walk& w) {
  mpls_labels(w, TunnelKind::kMpls);
}

// RFC 8300.
void nsh(Walk& w) {
  if (!w.enter(TunnelKind::kNsh)) return;
  if (w.rest.size() < 8) return w.stop_in_tunnel();
  const std::size_t length = (w.rest[1] & 0x3fU) * 4;
  const std::uint8_t next = w.rest[3];
  if (length < 8) return w.stop_in_tunnel();
  w.key(load_be24(w.rest.data() + 4));
  if (w.take(length) != nullptr) by_nsh_protocol(w, next);
}

void by_nsh_protocol(Walk& w, std::uint8_t protocol) {
  const LayerEntry* const known = find_layer(kByNsh, protocol);
  if (known == nullptr) return w.stop_in_tunnel();
  follow(w, *known);
}

// RFC 1661 section 2. The address and control bytes, and a zero byte of the protocol, may be left
// out.
void ppp(Walk& w) {
  constexpr std::uint16_t kFirstControl = 0x8000;
  if (w.rest.size() >= 2 && w.rest[0] == 0xff && w.rest[1] == 0x03) (void)w.take(2);
  if (w.rest.empty()) return w.stop(WalkEnd::kMalformed);
  std::uint16_t protocol = w.rest[0];
  if ((protocol & 1U) == 0) {
    if (w.rest.size() < 2) return w.stop(WalkEnd::kMalformed);
    protocol = load_be16(w.take(2));
  } else {
    (void)w.take(1);
  }
  if (const LayerEntry* const known = find_layer(kByPpp, protocol)) return follow(w, *known);
  if (protocol >= kFirstControl) return w.stop(WalkEnd::kNothing);
  w.stop_unread(Kind::kPppProtocol, protocol);
}

void pppoe(Walk& w) {
  constexpr std::uint8_t kVersionAndType = 0x11, kSession = 0;
  if (!w.enter(TunnelKind::kPppoe)) return;
  const std::uint8_t* const p = w.take(6);
  if (p == nullptr) return;
  if (p[0] != kVersionAndType) return w.stop_in_tunnel();
  if (p[1] != kSession) return w.stop(WalkEnd::kNothing);
  w.key(load_be16(p + 2));
  w.limit(load_be16(p + 4));
  w.next = ppp;
}

}  // namespace rpcrdma::capture
