// Two connected queue pairs with only a list of packets between them, which a test may inspect,
// drop, duplicate or change, and a clock that advances only when neither side has anything to send.
#pragma once

#include "packet_fields.h"
#include "queue_pair.h"

#include <deque>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::soft::testing {

// One packet as bytes, BTH through pad.
struct Flying {
  std::vector<std::uint8_t> bytes;
  bool from_client = true;
  std::size_t number = 0;  // in its direction, from 0; retransmissions count as new packets

  [[nodiscard]] wire::RocePacket packet() const {
    std::vector<std::uint8_t>& b = copy;
    b = bytes;
    b.resize(bytes.size() + wire::kIcrcBytes);
    return wire::decode_roce(b, b.size()).value();
  }
  [[nodiscard]] std::uint8_t opcode() const { return bytes[0]; }
  mutable std::vector<std::uint8_t> copy{};
};

[[nodiscard]] inline std::vector<std::uint8_t> bytes_of(const OutPacket& out) {
  std::vector<std::uint8_t> b(out.header.begin(), out.header.begin() + out.header_bytes);
  for (std::size_t i = 0; i < out.payload_parts; ++i) {
    b.insert(b.end(), out.payload[i].begin(), out.payload[i].end());
  }
  b.resize(b.size() + out.pad_bytes);
  return b;
}

struct Side {
  MemoryTable memory;
  fabric::Completions completions;
  std::vector<std::uint8_t> buffer;
  fabric::Memory whole;
  QueuePair qp;

  Side(std::uint32_t qpn, std::size_t bytes, std::uint32_t depth)
      : buffer(bytes), qp(qpn, qpn, {depth, depth, depth}, memory, completions) {
    whole = memory.register_memory(buffer).value();
  }
  [[nodiscard]] fabric::Slice slice(std::size_t offset, std::size_t length) {
    return {buffer.data() + offset, static_cast<std::uint32_t>(length), whole.local_key};
  }
  void post_receive(std::uint64_t id, std::size_t offset, std::size_t length) {
    const fabric::Slice s = slice(offset, length);
    ASSERT_TRUE(qp.post_receive({id, {&s, 1}}));
  }
  fabric::Expected<void> post(fabric::Operation operation, std::uint64_t id, std::size_t offset,
                              std::size_t length, fabric::MemoryRegion remote = {},
                              bool fence = false) {
    const fabric::Slice s = slice(offset, length);
    fabric::SendRequest r;
    r.id = id;
    r.operation = operation;
    r.local = {&s, 1};
    r.remote_handle = remote.handle;
    r.remote_offset = remote.offset;
    r.fence = fence;
    return qp.post_send(r);
  }
  fabric::MemoryRegion advertise(std::size_t offset, std::size_t length, fabric::Access access) {
    return qp.advertise(whole, buffer.data() + offset, static_cast<std::uint32_t>(length), access)
        .value();
  }
  std::vector<fabric::Completion> take() {
    std::vector<fabric::Completion> all(completions.size());
    all.resize(completions.poll(all));
    return all;
  }
};

struct PairOptions {
  QpParameters parameters = [] {
    QpParameters p;
    p.mtu = 256;
    p.initiator_depth = 4;
    p.responder_resources = 4;
    p.ack_timeout = fabric::kMillisecond;
    p.read_packets = 8;
    return p;
  }();
  std::uint32_t client_psn = 0x1000;
  std::uint32_t server_psn = 0x2000;
  std::size_t bytes = 1U << 16;
  std::uint32_t depth = 64;
};

class Pair {
 public:
  explicit Pair(const PairOptions& options = {})
      : client(0x11, options.bytes, options.depth), server(0x22, options.bytes, options.depth) {
    QpParameters p = options.parameters;
    p.remote_qpn = 0x22;
    p.send_psn = options.client_psn;
    p.receive_psn = options.server_psn;
    client.qp.connect({}, p);
    p.remote_qpn = 0x11;
    p.send_psn = options.server_psn;
    p.receive_psn = options.client_psn;
    server.qp.connect({}, p);
  }

  // Called for each packet; the returned packets are delivered in this order.
  std::function<std::vector<Flying>(Flying)> network = [](Flying f) {
    return std::vector<Flying>{std::move(f)};
  };

  // Runs until there is nothing to send and no timer is running, or for this many packets; returns
  // false if that was not enough.
  bool run(std::size_t packets = 100'000) {
    for (;;) {
      while (server_first ? step(server, false) || step(client, true)
                          : step(client, true) || step(server, false)) {
        if (packets-- == 0) return false;
      }
      const fabric::Time next = std::min(client.qp.deadline(), server.qp.deadline());
      if (next == fabric::kNever) return true;
      now = std::max(now, next);
      client.qp.expire(now);
      server.qp.expire(now);
    }
  }

  void deliver(const Flying& f) {
    log.push_back(f);
    (f.from_client ? server : client).qp.receive(f.packet(), now);
  }

  Side client;
  Side server;
  fabric::Time now = 0;
  bool server_first = false;  // it answers before the client continues
  std::vector<Flying> log;    // delivered packets

 private:
  bool step(Side& from, bool is_client) {
    OutPacket out;
    if (!from.qp.transmit(out, now)) return false;
    Flying f;
    f.bytes = bytes_of(out);
    f.from_client = is_client;
    f.number = sent_[is_client ? 0 : 1]++;
    for (const Flying& d : network(std::move(f))) deliver(d);
    return true;
  }

  std::array<std::size_t, 2> sent_{};
};

}  // namespace rpcrdma::soft::testing
