#include "figures.h"

#include <gtest/gtest.h>

namespace rpcrdma::kernel_endpoint {
namespace {

class FiguresTest : public ::testing::Test {
 protected:
  template <typename Event>
  void take(std::uint32_t connection, const Event& event,
            std::span<const trace::SumBucket> buckets = {}) {
    trace::EventHeader header;
    header.type = static_cast<std::uint16_t>(Event::kType);
    header.fixed = sizeof event;
    header.connection = connection;
    figures_.take(header, {reinterpret_cast<const std::uint8_t*>(&event), sizeof event},
                  {reinterpret_cast<const std::uint8_t*>(buckets.data()), buckets.size_bytes()});
  }
  void open(std::uint32_t connection, bool client) {
    trace::Connection c;
    c.active = client ? 1 : 0;
    take(connection, c);
  }
  static trace::ProcedureSums read(std::uint8_t side, std::uint64_t calls) {
    trace::ProcedureSums p;
    p.program = 100003;
    p.version = 3;
    p.procedure = 6;
    p.side = side;
    p.calls = p.replies = calls;
    p.read_chunk_bytes = 10 * calls;
    p.latency_ns = 1'500'000 * calls;
    return p;
  }

  Figures figures_;
};

TEST_F(FiguresTest, ConnectionsAreSummedUpByRoleAndProcedure) {
  open(1, true);
  open(2, true);
  open(3, false);
  const std::array<trace::SumBucket, 2> buckets{
      trace::SumBucket{trace::sum_bucket(1'500'000), 0, 5}, trace::SumBucket{9999, 0, 5}};
  take(1, read(0, 5), buckets);
  take(2, read(0, 7));
  take(3, read(1, 100));
  take(4, read(0, 1000));  // no such connection
  take(1, trace::ConnectionSums{.credit_waits = 2, .credit_wait_ns = 9});
  take(2, trace::ConnectionSums{.credit_waits = 3, .credit_wait_ns = 1});
  trace::Credits credits;
  credits.requested = 128;
  credits.granted = credits.limit = 64;
  credits.in_use = 7;
  take(1, credits);
  credits.side = 1;
  take(1, credits);  // of the reverse direction
  take(3, credits);
  const metrics::KernelFigures f = figures_.figures();
  EXPECT_EQ(f.client.connections, 2U);
  EXPECT_EQ(f.client.opened, 2U);
  EXPECT_EQ(f.client.credit_waits, 5U);
  EXPECT_EQ(f.client.credit_wait_ns, 10U);
  EXPECT_EQ(f.client.granted, 64U);
  EXPECT_EQ(f.client.requested, 128U);
  EXPECT_EQ(f.server.in_use, 7U);
  ASSERT_EQ(f.procedures.size(), 2U);
  EXPECT_FALSE(f.procedures[0].server);
  EXPECT_EQ(f.procedures[0].program, "NFS");
  EXPECT_EQ(f.procedures[0].procedure, "READ");
  EXPECT_EQ(f.procedures[0].calls, 12U);
  EXPECT_EQ(f.procedures[0].read_chunk_bytes, 120U);
  EXPECT_EQ(f.procedures[0].latencies.count(), 5U);
  EXPECT_EQ(f.procedures[0].latencies.sum(), 12 * 1'500'000U);
  EXPECT_TRUE(f.procedures[1].server);
  EXPECT_EQ(f.procedures[1].calls, 100U);
}

TEST_F(FiguresTest, CountersOfClosedConnectionsStay) {
  open(1, true);
  take(1, read(0, 5));
  take(1, read(0, 8));  // replaces it
  take(1, trace::ConnectionSums{.flushed = 4});
  take(1, trace::ConnectionEnd{});
  open(2, true);
  take(2, read(0, 1));
  const metrics::KernelFigures f = figures_.figures();
  EXPECT_EQ(f.client.connections, 1U);
  EXPECT_EQ(f.client.opened, 2U);
  EXPECT_EQ(f.client.closed, 1U);
  EXPECT_EQ(f.client.flushed, 4U);
  ASSERT_EQ(f.procedures.size(), 1U);
  EXPECT_EQ(f.procedures[0].calls, 9U);
}

TEST_F(FiguresTest, NumbersOfPeersAreNoLabels) {
  open(1, false);
  for (std::uint32_t program : {7U, 8U}) {
    trace::ProcedureSums p = read(1, 1);
    p.program = program;
    take(1, p);
  }
  const metrics::KernelFigures f = figures_.figures();
  ASSERT_EQ(f.procedures.size(), 1U);
  EXPECT_EQ(f.procedures[0].program, "other");
  EXPECT_EQ(f.procedures[0].procedure, "other");
  EXPECT_EQ(f.procedures[0].calls, 2U);
}

}  // namespace
}  // namespace rpcrdma::kernel_endpoint
