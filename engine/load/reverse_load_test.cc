// A load in the reverse direction whose connection, or server, is lost and comes back.
#include "support/both_ends.h"

#include <optional>

#include <gmock/gmock.h>

#include <rpcrdma/load/reverse_load.h>

namespace rpcrdma::load {
namespace {

using testing::CallbackServer;
using testing::ClientHost;

constexpr std::uint32_t kCalls = 5000;

service::ServerOptions with_reverse() {
  service::ServerOptions o;
  o.reverse_credits = 8;
  return o;
}

// As in the command: a client that serves the echo program, and requests its Calls.
class ReverseLoadTest : public ::testing::Test, public service::ClientObserver {
 protected:
  ReverseLoadTest() {
    service::ClientOptions options = testing::to_server();
    options.programs = programs;
    client = service::Client::create(*host.loop, options, *this).value();
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    load.on_outcome(*client, outcome);
  }
  void on_connected(const service::ConnectionInfo& info) override {
    load.on_connected(*client, info.number);
  }

  bool until(const std::function<bool()>& condition) {
    return host.until(
        [&] {
          EXPECT_TRUE(server.loop->run_once(0));
          return condition();
        },
        fabric::kMillisecond);
  }
  [[nodiscard]] std::uint64_t served() const { return echo->counters().calls[0]; }

  // It loses all connections, and accepts new ones.
  void stop_server() {
    server.server.reset();
    ASSERT_TRUE(until([&] { return client->up() == 0; }));
  }
  void start_server() {
    server.server =
        service::Server::create(*server.loop, server.programs, with_reverse(), &server.emitted)
            .value();
  }

  CallbackServer server{with_reverse()};
  ClientHost host;
  std::unique_ptr<service::echo::EchoProgram> echo =
      service::echo::EchoProgram::create(host.loop->memory(), testing::kLongest).value();
  std::array<service::Program*, 1> programs{echo.get()};
  ReverseLoad load{{kCalls, {service::echo::Proc::kNull, 0, 0, 0, 0}, 4}, 1, 1};
  std::unique_ptr<service::Client> client;
};

TEST_F(ReverseLoadTest, GoesOnAfterAReconnect) {
  for (const std::uint64_t seen : {10U, 1000U}) {
    ASSERT_TRUE(until([&] { return served() >= seen; })) << load.failure();
    ASSERT_FALSE(load.over());
    stop_server();
    start_server();
  }
  ASSERT_TRUE(until([&] { return load.over(); })) << load.failure();
  EXPECT_EQ(load.failure(), "");
  EXPECT_EQ(load.result().right, kCalls);
  EXPECT_EQ(load.result().wrong + load.result().failed, 0U);
}

TEST_F(ReverseLoadTest, EndsWhenTheServerHasForgottenIt) {
  ASSERT_TRUE(until([&] { return served() >= 10; })) << load.failure();
  stop_server();
  auto fresh =
      service::callback::CallbackProgram::create(server.loop->memory(), server.loop->clock());
  ASSERT_TRUE(fresh);
  server.callback = std::move(*fresh);
  server.programs[1] = server.callback.get();
  start_server();
  ASSERT_TRUE(until([&] { return !load.failure().empty() || load.over(); }));
  EXPECT_NE(load.failure().find("no longer has this session"), std::string::npos) << load.failure();
}

// All its procedures wait for ever.
class MuteProgram : public service::Program {
 public:
  MuteProgram(std::uint32_t number, std::uint32_t procedures)
      : Program(number, 1, "MUTE", table(procedures, *this)) {}

 private:
  static std::vector<service::Procedure> table(std::uint32_t count, MuteProgram& self) {
    std::vector<service::Procedure> all;
    for (std::uint32_t i = 0; i < count; ++i) {
      all.push_back({i,
                     "WAIT",
                     [&self](service::Call& c) { self.calls_.push_back(c.defer()); },
                     {.arguments = 1, .results = 1, .max_results = 64}});
    }
    return all;
  }
  std::vector<service::Deferred> calls_;
};

class SilentServer : public ::testing::Test, public service::ClientObserver {
 protected:
  ~SilentServer() override {
    client.reset();
    server.server.reset();
  }
  // `timeout`: of the Calls of the callback program.
  void start(service::Program& served, fabric::Time timeout) {
    load.emplace(ReversePlan{kCalls, {service::echo::Proc::kNull, 0, 0, 0, 0}, 4, timeout}, 1, 1);
    programs_ = {&served};
    service::ClientOptions options = testing::to_server();
    options.programs = programs_;
    client = service::Client::create(*host.loop, options, *this).value();
  }
  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    load->on_outcome(*client, outcome);
  }
  void on_connected(const service::ConnectionInfo& info) override {
    load->on_connected(*client, info.number);
  }
  bool until(const std::function<bool()>& condition) {
    return host.until(
        [&] {
          EXPECT_TRUE(server.loop->run_once(0));
          return condition();
        },
        fabric::kMillisecond);
  }

  MuteProgram callback{service::callback::kProgram, 5};
  MuteProgram echo{service::echo::kProgram, 7};
  CallbackServer server{with_reverse()};
  ClientHost host;
  std::optional<ReverseLoad> load;
  std::unique_ptr<service::Client> client;

 private:
  std::array<service::Program*, 1> programs_{};
};

TEST_F(SilentServer, ThatDoesNotAnswerStartEndsIt) {
  server.programs[1] = &callback;
  server.server.reset();
  server.server =
      service::Server::create(*server.loop, server.programs, with_reverse(), &server.emitted)
          .value();
  start(echo, 50 * fabric::kMillisecond);
  ASSERT_TRUE(until([&] { return !load->failure().empty(); }));
  EXPECT_THAT(load->failure(),
              ::testing::StartsWith("the server makes no reverse Calls: timed out"));
}

TEST_F(SilentServer, ThatMakesNoMoreCallsEndsIt) {
  constexpr fabric::Time kTimeout = 30 * fabric::kSecond;
  start(echo, kTimeout);
  EXPECT_EQ(load->deadline(), fabric::kNever);
  ASSERT_TRUE(until([&] { return load->deadline() != fabric::kNever; })) << load->failure();
  // Each of its Calls extends the deadline.
  const fabric::Time almost = load->deadline() - 1;
  load->expire(1, almost);
  EXPECT_EQ(load->deadline(), almost + kTimeout);
  load->expire(1, almost + kTimeout - 1);
  EXPECT_EQ(load->failure(), "");
  load->expire(1, almost + kTimeout);
  EXPECT_EQ(load->failure(),
            "the server has made no reverse Call for 30.000 s, and has not reported the end");
}

}  // namespace
}  // namespace rpcrdma::load
