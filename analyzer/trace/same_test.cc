// The same traffic, once as packets and once as trace events of one endpoint, is the same to the
// model: Calls, answers, chunks and their bytes, credits.
#include "support/model_traffic.h"
#include "support/trace_builder.h"

#include <algorithm>
#include <random>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <rpcrdma/model/model.h>
#include <rpcrdma/trace_reader/reader.h>

namespace rpcrdma::trace_reader {
namespace {

using namespace testing;
using model::testing::make_traffic;
using model::testing::Traffic;
using model::testing::TrafficOptions;

// Lists the model's output, without frames and times.
struct Account : model::Observer {
  std::vector<std::string> lines;
  bool chunks = true;  // include the data moved through them

  void on_message(const model::MessageSeen& event) override {
    const model::Message& m = event.message;
    lines.push_back(
        fmt::format("{} {} {:08x} by {} for {}, v{} credit {} ledger {}/{}/{}, {} of {} bytes{}{}",
                    m.connection, model::kind_name(m.kind), m.xid, m.sender, m.caller, m.version,
                    m.credit, m.credits.requested, m.credits.granted, m.credits.in_use,
                    m.header_length, m.wire_length, event.call != nullptr ? "" : ", alone",
                    m.has_invalidate ? fmt::format(", inv {:08x}", m.invalidated_handle) : ""));
  }
  void on_call_end(const model::CallEnded& event) override {
    const model::Call& call = event.call;
    std::string text =
        fmt::format("{} end of {:08x}: {}, ending {}", call.message.connection, call.message.xid,
                    event.answer != nullptr, static_cast<int>(call.ending));
    for (const model::CallChunk& chunk : call.chunks) {
      if (!chunks) break;
      std::size_t hash = chunk.data.held();
      for (const auto& e : chunk.data.extents()) {
        for (const std::uint8_t b : e.bytes) hash = hash * 31 + b;
      }
      text += fmt::format(" [{} {}: {} of {}, {:x}]", model::chunk_list_name(chunk.list),
                          chunk.index, chunk.moved, chunk.length, hash);
    }
    if (chunks) text += fmt::format(" {} operations", call.operations_total);
    lines.push_back(std::move(text));
  }
};

struct Both {
  Account account;
  model::ObserverList observers{&account};
  model::Model model{observers, keep()};
  static model::ModelOptions keep() {
    model::ModelOptions o;
    o.keep_chunks = o.keep_bytes = true;
    return o;
  }
};

std::vector<std::string> by_packets(const Traffic& t, bool chunks) {
  Both run;
  run.account.chunks = chunks;
  roce::Tracker tracker(run.model);
  model::testing::play(t, tracker);
  return run.account.lines;
}

std::vector<std::string> by_events(const Traffic& t, const EventSource::Options& options,
                                   bool chunks) {
  TraceBuilder trace;
  EventSource emitter(trace, options);
  roce::Tracker tracker(emitter);
  model::testing::play(t, tracker);
  trace.end();
  Both run;
  run.account.chunks = chunks;
  roce::ConnectionNumbers numbers;
  Reader reader(run.model, numbers);
  trace.for_each([&](auto data, const roce::PacketMeta& meta) { reader.frame(data, meta); });
  reader.finish();
  EXPECT_EQ(reader.reader_stats().unplaced, 0U);
  EXPECT_EQ(reader.reader_stats().missing, 0U);
  return run.account.lines;
}

class Same : public ::testing::TestWithParam<int> {
 protected:
  static TrafficOptions options(int seed) {
    std::mt19937_64 r(static_cast<std::uint64_t>(seed) * 7919 + 1);
    TrafficOptions o;
    o.seed = static_cast<std::uint64_t>(seed) + 1;
    o.connections = 1 + static_cast<int>(r() % 4);
    o.calls = 30;
    o.mtu = 256U << (r() % 5);
    o.version = 1 + static_cast<std::uint32_t>(r() % 2);
    o.ipv6 = r() % 4 == 0;
    o.reuse_numbers = r() % 2 == 0;
    return o;
  }
};

TEST_P(Same, FromEitherEnd) {
  const Traffic t = make_traffic(options(GetParam()));
  const auto packets = by_packets(t, true);
  ASSERT_FALSE(packets.empty());
  for (std::uint8_t side = 0; side < 2; ++side) {
    EXPECT_EQ(by_events(t, {.side = side}, true), packets) << "side " << int{side};
  }
}

// An endpoint does not see what the network does to packets.
TEST_P(Same, WithLossOnTheWay) {
  TrafficOptions o = options(GetParam());
  o.lost_before = o.lost_behind = 0.02;
  o.late = 0.05;
  o.rnr = 0.05;
  const Traffic t = make_traffic(o);
  EXPECT_EQ(by_events(t, {}, true), by_packets(t, true));
}

TEST_P(Same, OnADeviceThatHidesThePeersOperations) {
  const Traffic t = make_traffic(options(GetParam()));
  const auto packets = by_packets(t, false);
  EXPECT_EQ(by_events(t, {.side = 0, .sees_peer_operations = false}, false), packets);
  // The server's own operations.
  EXPECT_EQ(by_events(t, {.side = 1, .sees_peer_operations = false}, true), by_packets(t, true));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Same, ::testing::Range(0, 12));

}  // namespace
}  // namespace rpcrdma::trace_reader
