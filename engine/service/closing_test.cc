// Server and client over a fabric that never reports the end of a connection: it is abandoned in
// time, with the reason for which it was closed.
#include "support/null_provider.h"

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/server.h>

namespace rpcrdma::service {
namespace {

using fabric::EventType;
using fabric::Expected;

class Silent : public fabric::testing::NullProvider {
 public:
  class Connection : public fabric::Connection {
   public:
    explicit Connection(Silent& provider) : provider_(provider) {}

    Expected<std::size_t> post_send(std::span<const fabric::SendRequest> requests) override {
      return requests.size();
    }
    Expected<std::size_t> post_receive(std::span<const fabric::ReceiveRequest> requests) override {
      return requests.size();
    }
    Expected<fabric::MemoryRegion> advertise(std::uint64_t, const fabric::Memory&, std::uint8_t*,
                                             std::uint32_t, fabric::Access) override {
      return fabric::MemoryRegion{};
    }
    Expected<void> invalidate(std::uint64_t, std::uint32_t) override { return {}; }
    Expected<void> accept(const fabric::ConnectionOptions& options) override {
      provider_.happen(EventType::kEstablished, options.cookie);
      return {};
    }
    Expected<void> reject(std::span<const std::uint8_t>) override { return {}; }
    void disconnect() override { ++provider_.disconnects; }

   private:
    Silent& provider_;
  };

  Expected<std::unique_ptr<fabric::Listener>> listen(std::uint16_t, std::uint64_t cookie) override {
    happen(EventType::kRequest, cookie);
    events.back().request = std::make_unique<Connection>(*this);
    return std::make_unique<fabric::Listener>();
  }
  Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address&, std::uint16_t, const fabric::ConnectionOptions& options) override {
    happen(EventType::kEstablished, options.cookie);
    return std::make_unique<Connection>(*this);
  }
  bool arm() override { return events.empty(); }
  bool poll(fabric::Event& event) override {
    if (events.empty()) return false;
    event = std::move(events.front());
    events.pop_front();
    return true;
  }
  void happen(EventType type, std::uint64_t cookie) {
    fabric::Event& e = events.emplace_back();
    e.type = type;
    e.cookie = cookie;
  }

  std::deque<fabric::Event> events;
  int disconnects = 0;
};

class Closing : public ::testing::Test {
 protected:
  template <typename Condition>
  bool until(Condition condition) {
    const fabric::Time end = loop->now() + 20 * fabric::kSecond;
    while (!condition() && loop->now() < end) {
      if (!loop->run_once(fabric::kSecond).value_or(false)) return false;
    }
    return condition();
  }

  Silent provider;
  std::unique_ptr<Loop> loop = Loop::create(provider).value();
};

TEST_F(Closing, AServerDoesNotWaitWithoutEnd) {
  class Observer : public ServerObserver {
   public:
    void on_closed(const ConnectionInfo&, CloseReason reason, std::string_view what) override {
      closed.push_back(std::string(close_reason_name(reason)) + ": " + std::string(what));
    }
    std::vector<std::string> closed;
  } observer;
  ServerOptions options;
  options.idle = 10 * fabric::kMillisecond;
  options.handshake = 20 * fabric::kMillisecond;
  const auto server = Server::create(*loop, {}, options, &observer).value();
  ASSERT_TRUE(until([&] { return provider.disconnects == 1; }));
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_TRUE(observer.closed.empty());
  ASSERT_TRUE(until([&] { return server->connections() == 0; }));
  ASSERT_EQ(observer.closed.size(), 1U);
  EXPECT_EQ(observer.closed[0], "idle: no Calls");
  EXPECT_EQ(server->counters().closed_idle, 1U);
}

TEST_F(Closing, AClientDoesNotWaitWithoutEnd) {
  class Observer : public ClientObserver {
   public:
    void on_outcome(const protocol::CallOutcome&, std::uint32_t) override {}
    void on_lost(std::uint32_t, std::string_view what, fabric::Time) override {
      lost.emplace_back(what);
    }
    std::vector<std::string> lost;
  } observer;
  ClientOptions options;
  options.connect_timeout = 20 * fabric::kMillisecond;
  const auto client = Client::create(*loop, options, observer).value();
  ASSERT_TRUE(until([&] { return client->up() == 1; }));
  client->close();
  EXPECT_EQ(provider.disconnects, 1);
  EXPECT_FALSE(client->closed());
  ASSERT_TRUE(until([&] { return client->closed(); }));
  ASSERT_EQ(observer.lost.size(), 1U);
  EXPECT_EQ(observer.lost[0], "closed, without an answer");
}

}  // namespace
}  // namespace rpcrdma::service
