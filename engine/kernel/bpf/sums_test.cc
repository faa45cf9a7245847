#include "sums.h"

#include "event_log.h"

#include <bit>
#include <cstring>

#include <gmock/gmock.h>

namespace rpcrdma::kernel {
namespace {

using ::testing::SizeIs;

constexpr scope_key kMountedClient{0xffff888012340000, 17, SCOPE_CLIENT};

scope_connection_state open_connection() {
  scope_connection_state state{};
  state.wanted = 1;
  state.established = 1;
  state.first_seen = 3;
  state.peer.port = 20049;
  state.requested = 128;
  state.granted = 64;
  state.window = 64;
  state.sends = 10;
  return state;
}

class SumsTest : public ::testing::Test {
 protected:
  void pass(const scope_connection_state& state) {
    sums.begin(++now);
    sums.connection(kMountedClient, state, log);
    sums.end(log);
  }

  Sums sums;
  EventLog log;
  std::int64_t now = 100;
};

TEST_F(SumsTest, ConnectionComesFirstAndOnce) {
  pass(open_connection());
  pass(open_connection());
  ASSERT_THAT(log.entries, SizeIs(3));
  EXPECT_TRUE(log.entries[0].is<trace::Connection>());
  EXPECT_EQ(log.entries[0].as<trace::Connection>().port, 20049);
  EXPECT_EQ(log.entries[0].as<trace::Connection>().replayed, 0);
  EXPECT_EQ(log.entries[1].as<trace::ConnectionSums>().sends, 10U);
  const auto credits = log.entries[2].as<trace::Credits>();
  EXPECT_EQ(credits.granted, 64U);
  EXPECT_EQ(credits.limit, 64U);
}

TEST_F(SumsTest, OnlyChangesAreEmitted) {
  auto state = open_connection();
  pass(state);
  log.entries.clear();
  state.sends = 11;
  pass(state);
  ASSERT_THAT(log.entries, SizeIs(1));
  EXPECT_EQ(log.entries[0].as<trace::ConnectionSums>().sends, 11U);
  state.in_use = 5;
  pass(state);
  ASSERT_THAT(log.entries, SizeIs(2));
  EXPECT_EQ(log.entries[1].as<trace::Credits>().in_use, 5U);
}

TEST_F(SumsTest, ProcedureHasItsHistogram) {
  scope_procedure_key key{};
  key.connection = kMountedClient;
  key.program = 100003;
  key.version = 3;
  key.procedure = 6;
  scope_procedure procedure{};
  procedure.calls = 3;
  procedure.replies = 2;
  procedure.latency_ns = 1500;
  procedure.bucket[scope_sum_bucket(500)] = 1;
  procedure.bucket[scope_sum_bucket(1000)] = 1;
  for (int i = 0; i < 2; ++i) {
    sums.begin(++now);
    sums.connection(kMountedClient, open_connection(), log);
    sums.procedure(key, procedure, log);
    sums.end(log);
  }
  const auto emitted = log.of<trace::ProcedureSums>();
  ASSERT_THAT(emitted, SizeIs(1));
  const auto event = emitted[0].as<trace::ProcedureSums>();
  EXPECT_EQ(event.side, 0);
  EXPECT_EQ(event.calls, 3U);
  EXPECT_EQ(event.replies, 2U);
  EXPECT_EQ(event.latency_ns, 1500U);
  ASSERT_EQ(emitted[0].payload.size(), 2 * sizeof(trace::SumBucket));
  trace::SumBucket first;
  std::memcpy(&first, emitted[0].payload.data(), sizeof first);
  EXPECT_EQ(first.bucket, trace::sum_bucket(500));
  EXPECT_EQ(first.count, 1U);

  key.reverse = 1;
  sums.begin(++now);
  sums.connection(kMountedClient, open_connection(), log);
  sums.procedure(key, procedure, log);
  sums.end(log);
  EXPECT_EQ(log.of<trace::ProcedureSums>().back().as<trace::ProcedureSums>().side, 1);
}

TEST_F(SumsTest, ProcedureOfUnknownConnectionIsSkipped) {
  sums.begin(++now);
  sums.procedure({}, {}, log);
  sums.end(log);
  EXPECT_THAT(log.entries, SizeIs(0));
}

TEST_F(SumsTest, EndedConnectionEndsOnceWithItsLastSums) {
  auto state = open_connection();
  pass(state);
  state.ended = 1;
  state.sends = 12;
  pass(state);
  pass(state);
  EXPECT_THAT(log.of<trace::ConnectionEnd>(), SizeIs(1));
  EXPECT_TRUE(log.entries.back().is<trace::ConnectionEnd>());
  EXPECT_EQ(log.of<trace::ConnectionSums>().back().as<trace::ConnectionSums>().sends, 12U);
}

TEST_F(SumsTest, ReusedObjectIsANewConnection) {
  auto state = open_connection();
  pass(state);
  state.first_seen = 50;
  state.sends = 1;
  pass(state);
  const auto connections = log.of<trace::Connection>();
  ASSERT_THAT(connections, SizeIs(2));
  EXPECT_NE(connections[0].header.connection, connections[1].header.connection);
  EXPECT_THAT(log.of<trace::ConnectionEnd>(), SizeIs(1));
}

TEST_F(SumsTest, ForgottenConnectionEnds) {
  pass(open_connection());
  sums.begin(++now);
  sums.end(log);
  EXPECT_THAT(log.of<trace::ConnectionEnd>(), SizeIs(1));
  pass(open_connection());
  EXPECT_THAT(log.of<trace::Connection>(), SizeIs(2));
}

TEST_F(SumsTest, FilteredConnectionsAreNotEmitted) {
  auto state = open_connection();
  state.wanted = 0;
  pass(state);
  EXPECT_THAT(log.entries, SizeIs(0));
}

TEST(SumBucketTest, IsThatOfTheEvents) {
  static_assert(SCOPE_SUM_BUCKETS == trace::kSumBuckets);
  for (std::uint64_t value = 0; value < 4096; ++value) {
    EXPECT_EQ(scope_sum_bucket(value), trace::sum_bucket(value)) << value;
  }
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t value :
         {power - 1, power, power + 1, power + power / 2, power + power / 4 * 3}) {
      EXPECT_EQ(scope_sum_bucket(value), trace::sum_bucket(value)) << value;
    }
  }
  EXPECT_EQ(scope_sum_bucket(~std::uint64_t{0}), trace::kSumBuckets - 1);
}

}  // namespace
}  // namespace rpcrdma::kernel
