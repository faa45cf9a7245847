#include <gmock/gmock.h>

#include <rpcrdma/load_agents/messages.h>

namespace rpcrdma::load_agents {
namespace {

using ::testing::ElementsAre;

// What decode() makes of each truncated or extended form of a message: nothing.
template <typename T>
void expect_exact(const T& message) {
  Body body = message.encode();
  ASSERT_TRUE(T::decode(body));
  EXPECT_EQ(T::decode(body)->encode(), body);
  for (std::size_t n = 0; n < body.size(); ++n) EXPECT_FALSE(T::decode(Bytes(body).first(n))) << n;
  body.resize(body.size() + 4);
  EXPECT_FALSE(T::decode(body));
}

TEST(AgentMessages, AreExactlyWhatTheyAre) {
  expect_exact(Hello{7, "0.1.0 (abc)", "192.0.2.1"});
  expect_exact(Refusal{"no"});
  expect_exact(Ping{5});
  expect_exact(Pong{5, -3});
  expect_exact(Locate{"ib0"});
  expect_exact(Located{"192.0.2.1"});
  expect_exact(Options{3, "host#2", {"--port", "1"}, {"--size", "4k"}});
  expect_exact(Connect{1, {"a", "b"}, -1, 2});
  expect_exact(Start{-5, 6});
}

TEST(AgentMessages, KeepTheirValues) {
  const auto options = Options::decode(Options{3, "n", {"s"}, {"--a", "", "b c\n"}}.encode());
  EXPECT_EQ(options->rank, 3U);
  EXPECT_EQ(options->name, "n");
  EXPECT_THAT(options->serve, ElementsAre("s"));
  EXPECT_THAT(options->words, ElementsAre("--a", "", "b c\n"));
  const auto connect = Connect::decode(Connect{9, {"s"}, -7, 8}.encode());
  EXPECT_EQ(connect->round, 9U);
  EXPECT_THAT(connect->servers, ElementsAre("s"));
  EXPECT_EQ(connect->clock_offset, -7);
  EXPECT_EQ(connect->clock_error, 8);
  const auto start = Start::decode(Start{-1, 2}.encode());
  EXPECT_EQ(start->at, -1);
  EXPECT_EQ(start->since_first, 2);
}

TEST(AgentMessages, AForgedCountTakesNoMemory) {
  Body body = Connect{1, {"a"}, 0, 0}.encode();
  body[4] = 0x7f;  // of the servers
  EXPECT_FALSE(Connect::decode(body));
}

}  // namespace
}  // namespace rpcrdma::load_agents
