// Tests unanswered Calls of the largest size: their total memory is bounded, the oldest are
// evicted, and ended Calls free their memory.
#include "support/hostile_traffic.h"

namespace rpcrdma::report::testing {
namespace {

constexpr std::size_t kBudget = 16 * kMiB;

class HostileOutstanding : public Hostile {
 protected:
  static model::ModelOptions budget() {
    model::ModelOptions options;
    options.max_outstanding_bytes = kBudget;
    return options;
  }
  HostileOutstanding() : Hostile(budget()) {}

  // Returns a Read list of `count` segments with distinct handles.
  static std::vector<wire::ReadSegment> reads(std::uint32_t count) {
    std::vector<wire::ReadSegment> list(count);
    for (std::uint32_t i = 0; i < count; ++i) list[i] = {4 + i * 4, {i, 1, i}};
    return list;
  }
  void calls(std::uint32_t first, std::uint32_t count, std::span<const wire::ReadSegment> list) {
    wire::Header h;
    h.reads = list;
    for (h.xid = first; h.xid < first + count; ++h.xid) send_call(h);
  }
  void reply(std::uint32_t xid) {
    give(kServer, kClient, packet(Opcode::kSendOnly, kClientQp, reply_psn_++, reply_bytes(xid)));
  }

  std::uint32_t reply_psn_ = 0;
};

// The budget, plus room for one more Call.
constexpr std::size_t kLimit = kBudget + 8 * kMiB;

TEST_F(HostileOutstanding, LargestLists) {
  const auto list = reads(10000);
  expect_within([&] { calls(1, 50, list); }, [] { return Limits{kLimit, 40}; });
  EXPECT_EQ(analysis_.pipeline().model().connection(0).caller[0].unmatched_calls, 50U);
}

TEST_F(HostileOutstanding, TwiceAsManyTakeNoMore) {
  const auto list = reads(10000);
  expect_within([&] { calls(1, 100, list); }, [] { return Limits{kLimit, 40}; });
}

// Each Call is on a connection of its own, so that no table of Calls is full.
TEST_F(HostileOutstanding, OnManyConnections) {
  const auto list = reads(40);
  wire::Header h;
  h.reads = list;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= many(60000, 30000); ++h.xid) {
          give(kClient, kServer,
               packet(Opcode::kSendOnly, 2 + h.xid % 1000, h.xid / 1000, call_bytes(h)));
        }
      },
      [] {
        return Limits{kLimit + 16 * kMiB, 60};
      });
}

// Small Calls do not keep the memory of the large Calls before them.
TEST_F(HostileOutstanding, SmallOnesInThePlaceOfLargeOnes) {
  const auto large = reads(2000);
  const auto small = reads(1);
  expect_within(
      [&] {
        for (std::uint32_t n = 0; n < many(1000, 400); ++n) {
          calls(2 * n, 1, large);
          reply(2 * n);
          calls(2 * n + 1, 1, small);
        }
      },
      [] {
        return Limits{kLimit, 60};
      });
}

// Removing a segment from those with the same handle takes one step, wherever it is in the list.
TEST_F(HostileOutstanding, OneHandleInAll) {
  std::vector<wire::ReadSegment> list(100);
  for (std::uint32_t i = 0; i < list.size(); ++i) list[i] = {4, {7, 4096, i}};
  expect_within(
      [&] {
        calls(0, 100, list);
        for (std::uint32_t xid = 0; xid < 2000; ++xid) {
          reply(xid);
          calls(xid + 100, 1, list);
        }
      },
      [] {
        return Limits{kLimit, 60};
      });
  EXPECT_EQ(analysis_.pipeline().model().connection(0).caller[0].replies, 2000U);
}

TEST_F(HostileOutstanding, RepliesWithoutCalls) {
  constexpr std::uint32_t kReplies = many(100000);
  static_assert(kReplies > kMaxEdges);
  expect_within(
      [&] {
        for (std::uint32_t xid = 0; xid < kReplies; ++xid) reply(xid);
      },
      [] {
        return Limits{8 * kMiB, 40};
      });
  const Edges& edges = analysis_.report().edges;
  EXPECT_EQ(edges.early_replies.size(), kMaxEdges);
  EXPECT_EQ(edges.omitted, kReplies - kMaxEdges);
}

}  // namespace
}  // namespace rpcrdma::report::testing
