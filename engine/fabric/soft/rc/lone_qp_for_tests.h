// One queue pair whose peer is the test itself: it passes packets in and inspects the packets that
// come out.
#pragma once

#include "qp_pair_for_tests.h"

#include <algorithm>

namespace rpcrdma::soft::testing {

inline constexpr std::uint32_t kMtu = 256;
inline constexpr std::uint32_t kTheirPsn = 0x500;  // first PSN of the test
inline constexpr std::uint32_t kOurPsn = 0x900;    // first PSN of the queue pair's requester
inline constexpr fabric::Access kReadable = fabric::Access::kRemoteRead;
inline constexpr fabric::Access kWritable = fabric::Access::kRemoteWrite;

// Syndromes.
inline constexpr std::uint8_t kSequenceNak = 0x60;
inline constexpr std::uint8_t kInvalidNak = 0x61;
inline constexpr std::uint8_t kAccessNak = 0x62;
inline constexpr std::uint8_t kOperationalNak = 0x63;
inline constexpr std::uint8_t kRnr = 0x20;

// If `payload` is set, the packet carries this many bytes of one value.
struct Given {
  wire::Opcode opcode = wire::Opcode::kSendOnly;
  std::uint32_t psn = kTheirPsn;
  std::size_t payload = 0;
  fabric::MemoryRegion remote = {};
  std::uint32_t length = 0;  // RETH
  bool ack_req = true;
  std::uint32_t extra = 0;  // immediate, or handle to invalidate
  std::uint8_t value = 0xcc;
  std::uint8_t syndrome = 0x1f;
  std::uint32_t msn = 0;
  std::uint16_t pkey = 0xffff;
};

inline PairOptions lone_options() {
  PairOptions o;
  o.parameters.mtu = kMtu;
  o.parameters.window = 16;
  return o;
}

class LoneQp {
 public:
  explicit LoneQp(const PairOptions& options = lone_options())
      : side(0x11, options.bytes, options.depth) {
    QpParameters p = options.parameters;
    p.remote_qpn = 0x22;
    p.send_psn = kOurPsn;
    p.receive_psn = kTheirPsn;
    side.qp.connect({}, p);
  }

  void give(const Given& g) {
    wire::RocePacket p;
    p.bth.opcode = static_cast<std::uint8_t>(g.opcode);
    p.bth.psn = psn_add(g.psn, 0);
    p.bth.ack_req = g.ack_req;
    p.bth.pkey = g.pkey;
    p.reth.va = g.remote.offset;
    p.reth.rkey = g.remote.handle;
    p.reth.dma_length = g.length;
    p.immediate = p.invalidate_key = g.extra;
    p.aeth.syndrome = g.syndrome;
    p.aeth.msn = g.msn;
    const std::vector<std::uint8_t> payload(g.payload, g.value);
    p.payload = payload;
    side.qp.receive(p, now);
  }
  void ack(std::uint32_t psn, std::uint8_t syndrome = 0x1f, std::uint32_t msn = 0) {
    Given g;
    g.opcode = wire::Opcode::kAck;
    g.psn = psn;
    g.syndrome = syndrome;
    g.msn = msn;
    give(g);
  }
  void response(wire::Opcode opcode, std::uint32_t psn, std::size_t payload,
                std::uint8_t value = 0xcc) {
    Given g;
    g.opcode = opcode;
    g.psn = psn;
    g.payload = payload;
    g.value = value;
    give(g);
  }

  // Returns all packets that may be sent now.
  std::vector<Flying> sent() {
    std::vector<Flying> all;
    for (OutPacket out; side.qp.transmit(out, now);) {
      Flying f;
      f.bytes = bytes_of(out);
      all.push_back(std::move(f));
    }
    return all;
  }
  // Returns their PSNs, relative to kOurPsn.
  std::vector<int> sent_psns() {
    std::vector<int> psns;
    for (const Flying& f : sent()) {
      psns.push_back(psn_diff(f.packet().bth.psn, kOurPsn));
    }
    return psns;
  }
  // Returns the syndrome of the only waiting answer, and checks that its PSN is `psn`.
  int answer(std::uint32_t psn) {
    const std::vector<Flying> all = sent();
    if (all.size() != 1 || all[0].opcode() != static_cast<std::uint8_t>(wire::Opcode::kAck)) {
      return -1;
    }
    const wire::RocePacket p = all[0].packet();
    return p.bth.psn == psn ? p.aeth.syndrome : -2;
  }
  [[nodiscard]] bool holds(std::size_t offset, std::size_t length, std::uint8_t value) const {
    const auto from = side.buffer.begin() + static_cast<std::ptrdiff_t>(offset);
    return std::all_of(from, from + static_cast<std::ptrdiff_t>(length),
                       [&](std::uint8_t b) { return b == value; });
  }
  // Advances to the next deadline and lets it expire.
  void wait() {
    now = side.qp.deadline();
    side.qp.expire(now);
  }

  Side side;
  fabric::Time now = 0;
};

}  // namespace rpcrdma::soft::testing
