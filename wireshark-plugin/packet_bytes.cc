// The ICRC covers the IP header, too, so the header is needed: mostly it is in front of the UDP
// header in the same buffer. After reassembly of fragments it is not, so one is built with the same
// addresses and lengths. Fragmentation changes other fields, so the ICRC cannot be verified then.
#include "packet_bytes.h"

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::wireshark {

namespace {

constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kLongestIpv4Header = 60;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kLongestIpv6Extensions = 512;
constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIcrcBytes = 4;
constexpr std::uint8_t kUdp = 17;

using Bytes = std::span<const std::uint8_t>;

// A packet with a rebuilt header: static, since a longjmp() may skip destructors.
std::vector<std::uint8_t> made;

void describe(packet_info* pinfo, tvbuff_t* tvb, capture::Frame& frame) {
  frame.number = pinfo->num;
  frame.time_ns = time_of(pinfo);
  frame.original = tvb_reported_length(tvb);
  frame.interface = (pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID) != 0
                        ? pinfo->rec->rec_header.packet_header.interface_id
                        : 0;
}

Bytes captured_bytes(tvbuff_t* tvb) {
  const guint length = tvb_captured_length(tvb);
  if (length == 0) return {};
  return {tvb_get_ptr(tvb, 0, static_cast<gint>(length)), length};
}

// Returns the bytes in front of `tvb` in the buffer that it belongs to.
Bytes bytes_before(tvbuff_t* tvb) {
  const gint offset = tvb_raw_offset(tvb);
  tvbuff_t* const whole = tvb_get_ds_tvb(tvb);
  if (offset <= 0 || whole == nullptr || tvb_captured_length(whole) < static_cast<guint>(offset)) {
    return {};
  }
  const Bytes before{tvb_get_ptr(whole, 0, offset), static_cast<std::size_t>(offset)};
  return before.data() + before.size() == captured_bytes(tvb).data() ? before : Bytes();
}

// Returns the distance from the payload back to an IPv4 header with these addresses.
std::optional<std::size_t> ipv4_header(Bytes before, const address& src, const address& dst) {
  for (std::size_t length = kIpv4Bytes; length <= kLongestIpv4Header && length <= before.size();
       length += 4) {
    const std::uint8_t* const ip = before.data() + before.size() - length;
    if (ip[0] == (0x40 | length / 4) && ip[9] == kUdp && std::memcmp(ip + 12, src.data, 4) == 0 &&
        std::memcmp(ip + 16, dst.data, 4) == 0) {
      return length;
    }
  }
  return std::nullopt;
}

// The same for IPv6, with extension headers in between. The header's destination can differ from
// Wireshark's if a Routing header lists further ones.
std::optional<std::size_t> ipv6_header(Bytes before, std::size_t payload, const address& src) {
  for (std::size_t length = kIpv6Bytes;
       length <= kIpv6Bytes + kLongestIpv6Extensions && length <= before.size(); length += 8) {
    const std::uint8_t* const ip = before.data() + before.size() - length;
    if (ip[0] >> 4 == 6 && std::memcmp(ip + 8, src.data, 16) == 0 &&
        wire::load_be16(ip + 4) == length - kIpv6Bytes + payload) {
      return length;
    }
  }
  return std::nullopt;
}

// If the ICRC is not `verifiable`, it is truncated, so that it is not checked.
void make(Bytes header, Bytes payload, std::size_t wire_length, bool verifiable,
          capture::Frame& frame) {
  made.assign(header.begin(), header.end());
  if (!verifiable && payload.size() == wire_length && payload.size() >= kIcrcBytes) {
    payload = payload.first(payload.size() - 1);
  }
  made.insert(made.end(), payload.begin(), payload.end());
  frame.data = made;
}

bool make_ipv4(tvbuff_t* udp, const packet_info* pinfo, capture::Frame& frame) {
  const std::size_t length = kIpv4Bytes + tvb_reported_length(udp);
  if (length > UINT16_MAX) return false;
  std::array<std::uint8_t, kIpv4Bytes> header{};
  header[0] = 0x45;
  wire::store_be16(&header[2], static_cast<std::uint16_t>(length));
  header[9] = kUdp;
  std::memcpy(&header[12], pinfo->net_src.data, 4);
  std::memcpy(&header[16], pinfo->net_dst.data, 4);
  make(header, captured_bytes(udp), tvb_reported_length(udp), false, frame);
  return true;
}

bool make_ipv6(tvbuff_t* udp, const packet_info* pinfo, capture::Frame& frame) {
  if (tvb_reported_length(udp) > UINT16_MAX) return false;
  std::array<std::uint8_t, kIpv6Bytes> header{};
  header[0] = 0x60;
  wire::store_be16(&header[4], static_cast<std::uint16_t>(tvb_reported_length(udp)));
  header[6] = kUdp;
  std::memcpy(&header[8], pinfo->net_src.data, 16);
  std::memcpy(&header[24], pinfo->net_dst.data, 16);
  make(header, captured_bytes(udp), tvb_reported_length(udp), false, frame);
  return true;
}

// Uses `length` bytes in front of `tvb`, and all of `tvb`.
Bytes with_header(tvbuff_t* tvb, Bytes before, std::size_t length) {
  return {before.data() + before.size() - length, length + tvb_captured_length(tvb)};
}

bool is_ip(const packet_info* pinfo, int type, int bytes) {
  const address& src = pinfo->net_src;
  const address& dst = pinfo->net_dst;
  return src.type == type && dst.type == type && src.len == bytes && dst.len == bytes;
}

}  // namespace

bool roce_v2_frame(tvbuff_t* udp, packet_info* pinfo, capture::Frame& frame) {
  // A packet quoted by an ICMP error was captured before, if at all.
  if (pinfo->flags.in_error_pkt != 0) return false;
  describe(pinfo, udp, frame);
  const Bytes before = bytes_before(udp);
  if (is_ip(pinfo, AT_IPv4, 4)) {
    frame.link = capture::LinkType::kIpv4;
    const auto header = ipv4_header(before, pinfo->net_src, pinfo->net_dst);
    if (!header) return make_ipv4(udp, pinfo, frame);
    frame.data = with_header(udp, before, *header);
    return true;
  }
  if (!is_ip(pinfo, AT_IPv6, 16)) return false;
  frame.link = capture::LinkType::kIpv6;
  const auto header = ipv6_header(before, tvb_reported_length(udp), pinfo->net_src);
  if (!header) return make_ipv6(udp, pinfo, frame);
  frame.data = with_header(udp, before, *header);
  return true;
}

bool roce_v1_frame(tvbuff_t* grh, packet_info* pinfo, capture::Frame& frame) {
  constexpr std::uint16_t kRoceV1 = 0x8915;
  describe(pinfo, grh, frame);
  frame.link = capture::LinkType::kEthernet;
  // The analyzer reads only the type of the Ethernet header.
  const Bytes before = bytes_before(grh);
  if (before.size() >= kEthernetBytes && wire::load_be16(&before[before.size() - 2]) == kRoceV1) {
    frame.data = with_header(grh, before, kEthernetBytes);
    return true;
  }
  std::array<std::uint8_t, kEthernetBytes> header{};
  wire::store_be16(&header[kEthernetBytes - 2], kRoceV1);
  make(header, captured_bytes(grh), tvb_reported_length(grh), true, frame);
  return true;
}

bool infiniband_frame(tvbuff_t* lrh, packet_info* pinfo, capture::Frame& frame) {
  describe(pinfo, lrh, frame);
  frame.link = capture::LinkType::kInfiniband;
  frame.data = captured_bytes(lrh);
  return true;
}

bool event_frame(packet_info* pinfo, capture::Frame& frame) {
  if (pinfo->rec->rec_header.packet_header.pkt_encap != WTAP_ENCAP_WIRESHARK_UPPER_PDU ||
      pinfo->data_src == nullptr) {
    return false;
  }
  tvbuff_t* const whole =
      get_data_source_tvb(static_cast<struct data_source*>(pinfo->data_src->data));
  if (whole == nullptr) return false;
  describe(pinfo, whole, frame);
  frame.link = capture::LinkType::kUpperPdu;
  frame.data = captured_bytes(whole);
  return true;
}

}  // namespace rpcrdma::wireshark
