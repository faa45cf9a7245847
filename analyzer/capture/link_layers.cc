// Link types: what the first bytes of a frame are.
#include "ip_numbers.h"
#include "walk.h"

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be16;

std::uint32_t load_le32(const std::uint8_t* p) {
  return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}

void infiniband(Walk& w) {
  w.stop(WalkEnd::kLrh);
}

void upper_pdu(Walk& w) {
  w.stop(WalkEnd::kUpperPdu);
}

void linux_sll(Walk& w) {
  if (const std::uint8_t* const p = w.take(16)) by_ethertype(w, load_be16(p + 14));
}

void linux_sll2(Walk& w) {
  if (const std::uint8_t* const p = w.take(20)) by_ethertype(w, load_be16(p));
}

// A GRH, an ethertype and two bytes reserved (RFC 4391 section 6).
void ipoib(Walk& w) {
  if (const std::uint8_t* const p = w.take(44)) by_ethertype(w, load_be16(p + 40));
}

// BSD and OpenBSD loopback. The byte order of kNull is that of the capturing machine, and the
// number of IPv6 is that of its system; the IP packet itself is unambiguous.
void address_family(Walk& w) {
  const std::uint8_t* const p = w.take(4);
  if (p == nullptr) return;
  const bool swapped = p[0] == 0 && p[1] == 0;
  const std::uint8_t family = swapped ? p[3] : p[0];
  constexpr std::uint8_t kIpFamilies[] = {2, 10, 23, 24, 28, 30};
  const bool rest_zero = swapped ? p[2] == 0 : p[1] == 0 && p[2] == 0 && p[3] == 0;
  if (rest_zero &&
      std::find(std::begin(kIpFamilies), std::end(kIpFamilies), family) != std::end(kIpFamilies)) {
    w.next = any_ip;
  }
}

void cisco_hdlc(Walk& w) {
  if (const std::uint8_t* const p = w.take(4)) by_ethertype(w, load_be16(p + 2));
}

void ppp_hdlc(Walk& w) {
  constexpr std::uint8_t kUnicast = 0x0f, kMulticast = 0x8f;
  if (!w.rest.empty() && (w.rest[0] == kUnicast || w.rest[0] == kMulticast)) return cisco_hdlc(w);
  ppp(w);
}

// The direction is in front of PPP, or in place of its address byte.
void ppp_with_direction(Walk& w) {
  constexpr std::uint8_t kControl = 0x03;
  if (w.take(1) == nullptr) return;
  if (!w.rest.empty() && w.rest[0] == kControl) (void)w.take(1);
  w.next = ppp;
}

// The frame's bytes behind a header of fixed size.
template <std::size_t kHeader, Layer kNext>
void behind(Walk& w) {
  if (w.take(kHeader) != nullptr) w.next = kNext;
}

// A header that names the link type behind it. The frame behind may not be of such a type again.
void named_link(Walk& w, std::uint32_t type) {
  const Layer layer = type > UINT16_MAX ? nullptr : layer_of_link(static_cast<std::uint16_t>(type));
  if (layer == nullptr) return w.stop_unread(UnreadKind::kLinkType, type);
  w.next = layer;
}

void ppi(Walk& w) {
  constexpr std::size_t kHeader = 8;
  if (w.rest.size() < kHeader) return w.stop(WalkEnd::kMalformed);
  const std::size_t length = w.rest[2] | std::size_t{w.rest[3]} << 8;
  const std::uint32_t type = load_le32(w.rest.data() + 4);
  if (length < kHeader || w.take(length) == nullptr) return w.stop(WalkEnd::kMalformed);
  named_link(w, type);
}

void pktap(Walk& w) {
  constexpr std::size_t kHeader = 12;
  if (w.rest.size() < kHeader) return w.stop(WalkEnd::kMalformed);
  const std::size_t length = load_le32(w.rest.data());
  const std::uint32_t type = load_le32(w.rest.data() + 8);
  if (length < kHeader || w.take(length) == nullptr) return w.stop(WalkEnd::kMalformed);
  named_link(w, type);
}

// Attributes of netlink in the byte order of the capturing machine; all types are below 256.
void nflog(Walk& w) {
  constexpr std::size_t kAttribute = 4;
  constexpr std::uint8_t kPayload = 9;
  if (w.take(4) == nullptr) return;
  while (w.rest.size() >= kAttribute) {
    const std::uint8_t* const p = w.rest.data();
    const bool big = p[2] == 0;
    const std::size_t length =
        big ? load_be16(p) : static_cast<std::size_t>(p[0] | p[1] << 8);  // header included
    const std::uint8_t type = big ? p[3] : p[2];
    if (length < kAttribute) break;
    if (type == kPayload) {
      (void)w.take(kAttribute);
      w.limit(length - kAttribute);
      w.next = any_ip;
      return;
    }
    if (w.take((length + 3) / 4 * 4) == nullptr) return;
  }
  w.stop(WalkEnd::kMalformed);
}

// Preamble, then the delimiter: of a whole frame, or of the first part of one that another frame
// interrupted. Later parts are without their headers.
void mpacket(Walk& w) {
  constexpr std::size_t kPreamble = 8;
  constexpr std::uint8_t kIdle = 0x55;
  constexpr std::uint8_t kBegins[] = {0xd5, 0xe6, 0x4c, 0x7f, 0xb3};
  for (std::size_t i = 0; i < kPreamble; ++i) {
    const std::uint8_t* const p = w.take(1);
    if (p == nullptr) return;
    if (*p == kIdle) continue;
    if (std::find(std::begin(kBegins), std::end(kBegins), *p) != std::end(kBegins)) {
      w.next = ethernet;
    }
    return;
  }
}

// Extensible Record Format of Endace cards; the record type names the link layer.
void erf(Walk& w) {
  enum : std::uint8_t {
    kEth = 2,
    kColorEth = 11,
    kDsmColorEth = 16,
    kColorHashEth = 20,
    kInfiniband = 21,
    kErfIpv4 = 22,
    kErfIpv6 = 23,
    kProvenance = 27,
    kPad = 48,
  };
  constexpr std::uint8_t kMore = 0x80;
  const std::uint8_t* p = w.take(16);
  if (p == nullptr) return;
  const std::uint8_t type = p[8] & 0x7f;
  bool more = (p[8] & kMore) != 0;
  while (more) {
    p = w.take(8);
    if (p == nullptr) return;
    more = (p[0] & kMore) != 0;
  }
  switch (type) {
    case kEth:
    case kColorEth:
    case kDsmColorEth:
    case kColorHashEth:
      return behind<2, ethernet>(w);
    case kInfiniband:
      return infiniband(w);
    case kErfIpv4:
      w.next = ipv4;
      return;
    case kErfIpv6:
      w.next = ipv6;
      return;
    case kProvenance:
    case kPad:
      return;  // no packet
    default:
      w.stop_unread(UnreadKind::kErfType, type);
  }
}

constexpr LayerEntry entry(LinkType type, Layer layer) {
  return {static_cast<std::uint16_t>(type), layer};
}

constexpr LayerEntry kByLink[] = {
    entry(LinkType::kEthernet, ethernet),
    entry(LinkType::kLinuxSll, linux_sll),
    entry(LinkType::kLinuxSll2, linux_sll2),
    entry(LinkType::kRaw, any_ip),
    entry(LinkType::kRawDlt12, any_ip),
    entry(LinkType::kRawDlt14, any_ip),
    entry(LinkType::kIpv4, ipv4),
    entry(LinkType::kIpv6, ipv6),
    entry(LinkType::kErf, erf),
    entry(LinkType::kInfiniband, infiniband),
    entry(LinkType::kUpperPdu, upper_pdu),
    entry(LinkType::kNull, address_family),
    entry(LinkType::kLoop, address_family),
    entry(LinkType::kEnc, behind<12, any_ip>),
    entry(LinkType::kPpp, ppp),
    entry(LinkType::kPppHdlc, ppp_hdlc),
    entry(LinkType::kPppPppd, ppp_with_direction),
    entry(LinkType::kPppWithDirection, ppp_with_direction),
    entry(LinkType::kCiscoHdlc, cisco_hdlc),
    entry(LinkType::kPppoe, pppoe),
    entry(LinkType::kMpls, mpls),
    entry(LinkType::kPpi, ppi),
    entry(LinkType::kPktap, pktap),
    entry(LinkType::kIpnet, behind<24, any_ip>),
    entry(LinkType::kNflog, nflog),
    entry(LinkType::kNetAnalyzer, behind<4, ethernet>),
    entry(LinkType::kNetAnalyzerTransparent, behind<4, mpacket>),
    entry(LinkType::kMpacket, mpacket),
    entry(LinkType::kIpoib, ipoib),
};

}  // namespace

Layer layer_of_link(std::uint16_t type) {
  const LayerEntry* const found = find_layer(kByLink, type);
  return found == nullptr ? nullptr : found->layer;
}

}  // namespace rpcrdma::capture
