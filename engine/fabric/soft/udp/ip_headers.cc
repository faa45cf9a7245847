#include "ip_headers.h"

#include <cstring>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

constexpr std::uint8_t kTtl = 64;
constexpr std::uint16_t kDontFragment = 0x4000;

void put_ipv4(std::uint8_t* p, const Flow& flow, std::uint16_t ip_id, std::size_t udp_length) {
  p[0] = 0x45;  // version 4, 5 words
  p[1] = 0;
  wire::store_be16(p + 2, static_cast<std::uint16_t>(kIpv4Bytes + udp_length));
  wire::store_be16(p + 4, ip_id);
  wire::store_be16(p + 6, kDontFragment);
  p[8] = kTtl;
  p[9] = kUdp;
  wire::store_be16(p + 10, 0);
  std::memcpy(p + 12, flow.from.bytes.data(), 4);
  std::memcpy(p + 16, flow.to.bytes.data(), 4);
}

void put_ipv6(std::uint8_t* p, const Flow& flow, std::size_t udp_length) {
  wire::store_be32(p, 0x60000000);
  wire::store_be16(p + 4, static_cast<std::uint16_t>(udp_length));
  p[6] = kUdp;
  p[7] = kTtl;
  std::memcpy(p + 8, flow.from.bytes.data(), 16);
  std::memcpy(p + 24, flow.to.bytes.data(), 16);
}

}  // namespace

IpHeaders ip_headers(const Flow& flow, std::uint16_t ip_id, std::size_t content) {
  IpHeaders headers;
  const std::size_t udp_length = kUdpBytes + content;
  std::uint8_t* udp = headers.bytes.data();
  if (flow.from.ipv6) {
    put_ipv6(udp, flow, udp_length);
    udp += kIpv6Bytes;
  } else {
    put_ipv4(udp, flow, ip_id, udp_length);
    udp += kIpv4Bytes;
  }
  wire::store_be16(udp, flow.source_port);
  wire::store_be16(udp + 2, wire::kRoceUdpPort);
  wire::store_be16(udp + 4, static_cast<std::uint16_t>(udp_length));
  wire::store_be16(udp + 6, 0);
  headers.size = static_cast<std::size_t>(udp - headers.bytes.data()) + kUdpBytes;
  return headers;
}

std::uint64_t checksum_add(std::uint64_t sum, wire::Bytes bytes) {
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 2; left -= 2, p += 2) sum += wire::load_be16(p);
  return left == 0 ? sum : sum + (std::uint64_t{*p} << 8);
}

std::uint16_t checksum_end(std::uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace rpcrdma::soft
