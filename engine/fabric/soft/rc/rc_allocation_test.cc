// In steady state no packet causes an allocation, whatever its type, with and without a trace
// reader.
#include "qp_pair_for_tests.h"
#include "support/counting_new.h"

namespace rpcrdma::soft {
namespace {

using fabric::Operation;
using fabric::Status;
using testing::Side;

struct Link {
  Side a{1, 1U << 16, 32};
  Side b{2, 1U << 16, 32};
  fabric::MemoryRegion there =
      b.advertise(0, 16384, fabric::Access::kRemoteRead | fabric::Access::kRemoteWrite);
  std::uint64_t packets = 0;
  std::array<std::uint8_t, 4200> datagram{};
  wire::RocePacket packet;

  Link() {
    QpParameters p;
    p.initiator_depth = p.responder_resources = 4;
    p.window = 16;
    p.remote_qpn = 2;
    a.qp.connect({}, p);
    p.remote_qpn = 1;
    b.qp.connect({}, p);
  }

  bool move(Side& from, Side& to) {
    OutPacket out;
    bool moved = false;
    while (from.qp.transmit(out, 0)) {
      moved = true;
      std::uint8_t* at = std::copy_n(out.header.begin(), out.header_bytes, datagram.begin());
      for (std::size_t i = 0; i < out.payload_parts; ++i) {
        at = std::copy(out.payload[i].begin(), out.payload[i].end(), at);
      }
      const std::size_t size = out.size() + wire::kIcrcBytes;
      if (++packets % 31 == 0) continue;  // lost
      if (!wire::decode_roce(wire::Bytes(datagram.data(), size), size, packet)) std::abort();
      to.qp.receive(packet, 0);
    }
    return moved;
  }
  void round() {
    const auto post = [&](Side& from, Operation o, std::size_t bytes, fabric::MemoryRegion remote) {
      const std::array<fabric::Slice, 2> local = {from.slice(16384, bytes / 2),
                                                  from.slice(40000, bytes - bytes / 2)};
      fabric::SendRequest r;
      r.operation = o;
      r.local = local;
      r.remote_handle = remote.handle;
      r.remote_offset = remote.offset;
      if (!from.qp.post_send(r)) std::abort();
    };
    for (int i = 0; i < 3; ++i) {
      b.post_receive(1, 0, 4000);
      post(a, Operation::kSend, 4000, {});
      post(a, Operation::kWrite, 10000, there);
      post(a, Operation::kRead, 10000, there);
    }
    const auto own = b.advertise(1, 100, fabric::Access::kRemoteRead);
    if (!b.qp.invalidate(1, own.handle)) std::abort();
    std::array<fabric::Completion, 8> done;
    for (;;) {
      const bool one = move(a, b);
      const bool other = move(b, a);
      if (one || other) continue;
      const fabric::Time next = std::min(a.qp.deadline(), b.qp.deadline());
      if (next == fabric::kNever) break;
      now = next;
      a.qp.expire(now);
      b.qp.expire(now);
    }
    for (Side* s : {&a, &b}) {
      while (const std::size_t n = s->completions.poll(done)) {
        for (std::size_t i = 0; i < n; ++i) good += done[i].status == Status::kSuccess ? 1 : 0;
      }
    }
  }
  fabric::Time now = 0;
  std::size_t good = 0;
};

void expect_none(Link& link) {
  for (int i = 0; i < 20; ++i) link.round();
  const std::uint64_t before = link.packets;
  const std::size_t allocations = wire::testing::allocations_in([&] {
    for (int i = 0; i < 100; ++i) link.round();
  });
  EXPECT_EQ(allocations, 0U);
  EXPECT_GT(link.packets - before, 5000U);
  EXPECT_EQ(link.good, 120U * 13);
  EXPECT_GT(link.a.qp.counters().retransmitted, 0U);
}

TEST(RcAllocation, NoneInSteadyState) {
  Link link;
  expect_none(link);
}

TEST(RcAllocation, NorWithAListener) {
  Link link;
  trace::Tracer tracer(0, 1U << 16);
  tracer.listen(true);
  link.a.qp.set_trace({&tracer, 1});
  link.b.qp.set_trace({&tracer, 2});
  expect_none(link);
  EXPECT_GT(tracer.ring().emitted(), 1000U);
}

}  // namespace
}  // namespace rpcrdma::soft
