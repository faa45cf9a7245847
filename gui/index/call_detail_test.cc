// What is kept of each Call: its file, its bytes, and where its time went.
#include "index_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/index/call_detail.h>

namespace rpcrdma::index {
namespace {

TEST(ShortTime, KeepsElevenBits) {
  EXPECT_FALSE(ShortTime().known());
  EXPECT_FALSE(ShortTime(-1).known());
  EXPECT_EQ(ShortTime(-1).ns(), -1);
  for (const std::int64_t ns : {0, 1, 2047, 2048, 4095}) EXPECT_EQ(ShortTime(ns).ns(), ns);
  for (std::int64_t ns = 5; ns < 1'000'000'000'000; ns = ns * 3 + 1) {
    EXPECT_LE(ShortTime(ns).ns(), ns);
    EXPECT_GE(ShortTime(ns).ns(), ns - ns / 2048);
  }
  EXPECT_GT(ShortTime(INT64_MAX).ns(), 2'000'000'000'000);
}

TEST(CallDetail, ACallKnowsItsFileAndItsBytes) {
  const testing::Loaded loaded(testing::capture("linux-nfs3.pcap"));
  std::vector<std::string> requests;
  loaded.store.read([&](const Content& c) {
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      if (c.rows[i].kind == model::Kind::kCall) requests.push_back(c.request(c.rows[i]));
      const std::optional<MessageRow> call = c.call_of(c.rows[i]);
      const CallDetail* const d = call ? c.detail(*call) : nullptr;
      if (d == nullptr || d->parts != CallDetail::Parts::kPackets) continue;
      // The parts add up to the latency.
      std::int64_t sum = 0;
      for (const ShortTime& part : d->part) sum += part.ns();
      EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(call->latency_ns),
                  static_cast<double>(call->latency_ns) / 1000);
    }
  });
  EXPECT_THAT(requests, ::testing::Contains(::testing::MatchesRegex("READ .* at .* of .*")));
  EXPECT_THAT(requests, ::testing::Contains(::testing::MatchesRegex("LOOKUP .*")));
}

}  // namespace
}  // namespace rpcrdma::index
