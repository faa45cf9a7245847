// Builds RoCEv2 packets for tests: two ports, two QPs, good ICRCs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <vector>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::roce::testing {

// Last bytes of the addresses of the two ports.
inline constexpr std::uint8_t kA = 1, kB = 2;

inline capture::Address ip(std::uint8_t last) {
  const std::array<std::uint8_t, 4> a{192, 0, 2, last};
  return capture::make_ipv4(a.data());
}

inline std::vector<std::uint8_t> pattern(std::size_t n, unsigned seed = 0) {
  std::vector<std::uint8_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(i * 7 + seed + i / 256);
  return v;
}

// Returns a whole IPv4 packet with a RoCEv2 transport packet, ICRC included.
inline std::vector<std::uint8_t> ip_packet(std::uint8_t src, std::uint8_t dst,
                                           const wire::RocePacket& p, std::uint16_t ip_id = 0) {
  constexpr std::size_t kIpUdp = 28;
  std::vector<std::uint8_t> bytes(kIpUdp + wire::encoded_size(p) + 4);
  bytes[0] = 0x45;
  wire::store_be16(&bytes[2], static_cast<std::uint16_t>(bytes.size()));
  wire::store_be16(&bytes[4], ip_id);
  bytes[8] = 64;
  bytes[9] = 17;
  bytes[12] = 192, bytes[14] = 2, bytes[15] = src;
  bytes[16] = 192, bytes[18] = 2, bytes[19] = dst;
  wire::store_be16(&bytes[20], 50000);
  wire::store_be16(&bytes[22], wire::kRoceUdpPort);
  wire::store_be16(&bytes[24], static_cast<std::uint16_t>(bytes.size() - 20));
  (void)wire::encode_roce(p, wire::MutableBytes(bytes).subspan(kIpUdp));
  wire::store_icrc(
      &bytes[bytes.size() - 4],
      wire::icrc(wire::IcrcKind::kRoceV2Ipv4, wire::Bytes(bytes).first(bytes.size() - 4), kIpUdp));
  return bytes;
}

// Feeds a tracker; frames are numbered from 1, a microsecond apart unless the test waits.
class Wire {
 public:
  explicit Wire(Tracker& tracker) : tracker_(tracker) {}

  void give(std::uint8_t src, std::uint8_t dst, const wire::RocePacket& p, bool damage = false) {
    std::vector<std::uint8_t>& bytes = packets_.emplace_back(ip_packet(src, dst, p, ip_id));
    if (damage) bytes[bytes.size() - (damages_icrc ? 1 : 5)] ^= 1;
    PreparedPacket prepared;
    capture::TransportPacket& t = prepared.transport;
    t.src = ip(src);
    t.dst = ip(dst);
    t.data = wire::Bytes(bytes).first(std::min(bytes.size(), captured));
    t.bth = 28;
    t.wire_length = bytes.size() - 28;
    t.dscp_ecn = ecn;
    t.ip_id = ip_id;
    prepared.vantage = vantage;
    now_ns += 1000;
    prepared.meta = {++frame_, now_ns, point};
    prepare(prepared);
    tracker_.packet(prepared);
  }

  [[nodiscard]] std::uint64_t frame() const { return frame_; }

  // A sender without a NAK repeats after a timeout.
  void wait_for_timeout() { now_ns += 100'000'000; }

  std::uint8_t ecn = 0;       // of the next packets; 3: congestion experienced
  std::uint64_t point = 0;    // capture point of the next packets
  std::uint32_t vantage = 0;  // PreparedPacket::vantage
  std::uint16_t ip_id = 0;
  std::int64_t now_ns = 0;
  bool damages_icrc = false;  // of packets to damage, only the ICRC
  // Bytes that the capture keeps of the next IP packets.
  std::size_t captured = SIZE_MAX;

 private:
  Tracker& tracker_;
  std::uint64_t frame_ = 0;
  std::list<std::vector<std::uint8_t>> packets_;
};

inline wire::RocePacket packet(wire::Opcode opcode, std::uint32_t qp, std::uint32_t psn,
                               wire::Bytes payload = {}) {
  wire::RocePacket p;
  p.bth.opcode = static_cast<std::uint8_t>(opcode);
  p.bth.dest_qp = qp;
  p.bth.psn = psn & wire::kPsnMask;
  p.payload = payload;
  return p;
}

inline wire::RocePacket with_reth(wire::RocePacket p, std::uint32_t rkey, std::uint64_t va,
                                  std::uint32_t length) {
  p.reth = {va, rkey, length};
  return p;
}

inline wire::RocePacket ack(std::uint32_t qp, std::uint32_t psn, std::uint8_t syndrome = 0) {
  wire::RocePacket p = packet(wire::Opcode::kAck, qp, psn);
  p.aeth.syndrome = syndrome;
  return p;
}

// A NAK for a PSN sequence error.
inline wire::RocePacket nak(std::uint32_t qp, std::uint32_t psn) {
  return ack(qp, psn, 0x60);
}

}  // namespace rpcrdma::roce::testing
