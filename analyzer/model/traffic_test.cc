// What must hold for any traffic, over many seeds: see traffic_for_tests.h for what is simulated.
#include "traffic_for_tests.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/model/model.h>

namespace rpcrdma::model {
namespace {

using namespace testing;

// Compares everything that the model says with the truth. Nothing that it says may be false; what
// is missing is counted.
struct Judge : Observer {
  explicit Judge(const Traffic& t) : traffic(t), seen(t.calls.size()) {}

  struct Seen {
    bool call = false;      // its message
    bool answered = false;  // joined to its answer
    bool whole = false;     // and all of its chunks
  };
  const Traffic& traffic;
  std::vector<Seen> seen;
  std::map<std::pair<int, int>, std::set<int>> outstanding;  // by connection and caller
  bool exact = true;  // nothing is missing in the capture: the ledgers can be checked
  int malformed = 0;
  int unmatched = 0;  // answers without a Call

  [[nodiscard]] const CapturedPacket& packet(std::uint64_t frame) const {
    return traffic.packets.at(frame - 1);
  }

  void on_message(const Message& m, const Call* call) override {
    if (m.kind == Kind::kMalformed) {
      ++malformed;
      return;
    }
    const CapturedPacket& p = packet(m.frame);
    if (m.suspect) return;
    const TrueCall& truth = traffic.calls.at(static_cast<std::size_t>(p.call));
    EXPECT_EQ(m.xid, truth.xid);
    auto& open = outstanding[{truth.connection, truth.caller}];
    if (m.kind == Kind::kCall) {
      ASSERT_EQ(p.role, Role::kCall);
      EXPECT_FALSE(seen[static_cast<std::size_t>(p.call)].call) << "told twice";
      seen[static_cast<std::size_t>(p.call)].call = true;
      open.insert(p.call);
    } else {
      ASSERT_EQ(p.role, Role::kReply) << kind_name(m.kind);
      open.erase(p.call);
      if (call == nullptr) ++unmatched;
    }
    if (exact) {
      EXPECT_EQ(m.credits.in_use, open.size());
      if (m.kind == Kind::kReply) EXPECT_EQ(m.credits.granted, m.credit);
    }
  }

  void on_call_end(const Call& call, const Message* answer) override {
    if (call.message.suspect || (answer != nullptr && answer->suspect)) return;
    const CapturedPacket& asked = packet(call.message.frame);
    ASSERT_EQ(asked.role, Role::kCall);
    const TrueCall& truth = traffic.calls.at(static_cast<std::size_t>(asked.call));
    Seen& s = seen[static_cast<std::size_t>(asked.call)];
    if (answer != nullptr) {
      EXPECT_EQ(packet(answer->frame).call, asked.call) << "a false match";
      EXPECT_EQ(answer->kind == Kind::kError, truth.error);
      s.answered = true;
    }
    for (const ChunkOperation& op : call.operations) {
      EXPECT_EQ(packet(op.first_frame).call, asked.call) << "an operation of another Call";
      EXPECT_EQ(op.kind == roce::OpKind::kRead, op.list == ChunkList::kRead);
    }
    std::size_t whole = 0;
    for (const CallChunk& chunk : call.chunks) {
      const auto t = std::find_if(
          truth.chunks.begin(), truth.chunks.end(),
          [&](const TrueChunk& x) { return x.list == chunk.list && x.index == chunk.index; });
      if (t == truth.chunks.end()) {
        EXPECT_EQ(chunk.moved, 0U);
        continue;
      }
      EXPECT_LE(chunk.moved, t->bytes.size());
      for (const ChunkData::Extent& e : chunk.data.extents()) {
        ASSERT_LE(e.offset + e.bytes.size(), t->bytes.size());
        EXPECT_TRUE(std::equal(e.bytes.begin(), e.bytes.end(),
                               t->bytes.begin() + static_cast<std::ptrdiff_t>(e.offset)))
            << "wrong bytes in a " << chunk_list_name(chunk.list) << " chunk";
      }
      if (chunk.moved == t->bytes.size() && chunk.data.covers(t->bytes.size())) ++whole;
    }
    s.whole = s.answered && whole == truth.chunks.size();
  }
};

struct Run {
  explicit Run(const Traffic& t, bool exact = true) : judge(t), model(judge, keep()) {
    judge.exact = exact;
    roce::Tracker tracker(model);
    play(t, tracker);
    stats = tracker.stats();
    for (std::size_t i = 0; i < tracker.connection_count(); ++i) {
      if (!tracker.connection(i).merged_away) connections.push_back(tracker.connection(i));
    }
    for (const roce::Connection& c : connections) {
      const ConnectionModel& m = model.connection(c.index);
      malformed += m.malformed;
      stray += m.stray_operations;
    }
  }
  static ModelOptions keep() {
    ModelOptions o;
    o.keep_chunks = o.keep_bytes = true;
    return o;
  }
  Judge judge;
  Model model;
  roce::PacketStats stats;
  std::vector<roce::Connection> connections;
  std::uint64_t malformed = 0;
  std::uint64_t stray = 0;
};

TrafficOptions varied(std::uint64_t seed) {
  std::mt19937_64 r(seed * 7919);
  TrafficOptions o;
  o.seed = seed;
  o.connections = 1 + static_cast<int>(r() % 4);
  o.mtu = 256U << (r() % 5);
  o.version = 1 + static_cast<std::uint32_t>(r() % 2);
  o.cm = r() % 2 == 0;
  o.ipv6 = r() % 4 == 0;
  o.psn_wraps = r() % 3 == 0;
  o.reuse_numbers = r() % 2 == 0;
  return o;
}

// Nothing is missing in the capture, so nothing may be missing in the analysis.
void expect_all(const Run& run) {
  for (std::size_t i = 0; i < run.judge.seen.size(); ++i) {
    EXPECT_TRUE(run.judge.seen[i].call) << "Call " << i;
    EXPECT_TRUE(run.judge.seen[i].answered) << "Call " << i;
    EXPECT_TRUE(run.judge.seen[i].whole) << "Call " << i;
  }
  EXPECT_EQ(run.judge.unmatched, 0);
  EXPECT_EQ(run.malformed, 0U);
  EXPECT_EQ(run.stray, 0U);
  EXPECT_EQ(run.stats.lost_capture, 0U);
  EXPECT_EQ(run.stats.malformed, 0U);
}

void expect_connections(const Run& run, const Traffic& t) {
  EXPECT_EQ(run.connections.size(), t.connections.size());
  for (const roce::Connection& c : run.connections) {
    EXPECT_TRUE(c.side[0].qpn_known && c.side[1].qpn_known);
    EXPECT_EQ(c.side[0].counters.illegal_sequence + c.side[1].counters.illegal_sequence, 0U);
  }
}

class Traffics : public ::testing::TestWithParam<int> {
 protected:
  // Each parameter stands for a stride of seeds, so that a failure names a small part.
  template <typename Function>
  void for_seeds(int n, Function&& f) {
    for (int i = 0; i < n; ++i) {
      const auto seed = static_cast<std::uint64_t>(GetParam() * n + i);
      SCOPED_TRACE("seed " + std::to_string(seed));
      f(seed);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Traffics, Undisturbed) {
  for_seeds(30, [](std::uint64_t seed) {
    const Traffic t = make_traffic(varied(seed));
    const Run run(t);
    expect_all(run);
    expect_connections(run, t);
    EXPECT_EQ(run.stats.retransmitted, 0U);
    EXPECT_EQ(run.stats.reordered, 0U);
    EXPECT_EQ(run.stats.lost_network, 0U);
  });
}

TEST_P(Traffics, LossOnTheWay) {
  for_seeds(30, [](std::uint64_t seed) {
    TrafficOptions o = varied(seed);
    o.lost_before = seed % 3 != 0 ? 0.03 : 0;
    o.lost_behind = seed % 3 != 1 ? 0.03 : 0;
    o.rnr = 0.02;
    const Traffic t = make_traffic(o);
    const Run run(t);
    expect_all(run);
    expect_connections(run, t);
    EXPECT_LE(run.stats.lost_network, t.lost_before);
    EXPECT_EQ(run.stats.reordered, 0U);
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, Traffics, ::testing::Range(0, 4));

}  // namespace
}  // namespace rpcrdma::model
