#include "messages.h"

#include <gmock/gmock.h>

namespace rpcrdma::load_mpi {
namespace {

TEST(Messages, AreWhatWasSent) {
  const auto hello = decode_hello(encode(Hello{"0.2.0", "h1", "10.0.0.1", "no \"device\""}));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->version, "0.2.0");
  EXPECT_EQ(hello->host, "h1");
  EXPECT_EQ(hello->address, "10.0.0.1");
  EXPECT_EQ(hello->problem, "no \"device\"");
  const auto work = decode_work(encode(Work{3, {"a", "b:20050"}}));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->round, 3U);
  EXPECT_THAT(work->servers, testing::ElementsAre("a", "b:20050"));
  const auto start = decode_start(encode(Start{1LL << 60, -5, 7, 9}));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->at, 1LL << 60);
  EXPECT_EQ(start->offset, -5);
  EXPECT_EQ(start->error, 7);
  EXPECT_EQ(start->since_first, 9);
  const auto ping = decode_ping(encode(Ping{1, 2}));
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->sent, 1);
  EXPECT_EQ(ping->remote, 2);
  EXPECT_EQ(decode_ready(encode(Ready{"why"}))->problem, "why");
  EXPECT_EQ(decode_done(encode(Done{1, 1ULL << 40}))->bytes, 1ULL << 40);
  EXPECT_EQ(decode_reduce(encode(Reduce{77}))->capacity, 77U);
}

TEST(Messages, ABytesOfAHostNameThatAreNotUtf8AreReplaced) {
  const auto hello = decode_hello(encode(Hello{"1", "h\xff", "", ""}));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->host, "h\xef\xbf\xbd");
}

TEST(Messages, OthersAreRefused) {
  for (const char* const bytes :
       {"", "{", "[]", "null", "{\"round\":1}", "{\"round\":-1,\"servers\":3}",
        "{\"round\":{},\"servers\":[]}"}) {
    EXPECT_FALSE(decode_work(bytes)) << bytes;
  }
  EXPECT_FALSE(decode_hello("{\"host\":\"h1\"}"));
  EXPECT_FALSE(decode_ping("{\"sent\":\"now\",\"remote\":0}"));
  EXPECT_FALSE(decode_ping("{\"sent\":1e300,\"remote\":0}"));
}

}  // namespace
}  // namespace rpcrdma::load_mpi
