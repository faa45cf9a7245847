// Clients and servers respect the limits of their provider.
#include "support/fake_fabric.h"

#include <deque>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::service {
namespace {

// Stores the options that a client connects with, and refuses the connection.
class Limited : public fabric::testing::NullProvider {
 public:
  const fabric::Limits& limits() const override { return all; }
  fabric::Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address&, std::uint16_t, const fabric::ConnectionOptions& options) override {
    offered.assign(options.private_data.begin(), options.private_data.end());
    return fabric::fail(fabric::Errc::kSystem);
  }

  fabric::Limits all;
  std::vector<std::uint8_t> offered;
};

class DeviceLimits : public ::testing::Test {
 protected:
  struct Ignore : ClientObserver {
    void on_outcome(const protocol::CallOutcome&, std::uint32_t) override {}
  };

  std::unique_ptr<Client> client() { return Client::create(*loop_, {}, ignore_).value(); }

  Limited provider_;
  std::unique_ptr<Loop> loop_ = Loop::create(provider_).value();
  Ignore ignore_;
};

TEST_F(DeviceLimits, SegmentsAreNotLongerThanItsMessages) {
  const std::uint32_t usual = client()->options().max_segment;
  provider_.all.message = usual + 1;
  EXPECT_EQ(client()->options().max_segment, usual);
  provider_.all.message = 8U << 20;
  EXPECT_EQ(client()->options().max_segment, 8U << 20);
}

TEST_F(DeviceLimits, PeersAreEmittedWhetherTheyMayInvalidate) {
  for (const bool takes : {false, true}) {
    provider_.all.accepts_invalidate = takes;
    provider_.offered.clear();
    const auto connecting = client();
    for (int turns = 0; provider_.offered.empty() && turns < 10'000; ++turns) {
      ASSERT_TRUE(loop_->run_once(fabric::kMillisecond));
    }
    const auto emitted = wire::decode_private_data(provider_.offered);
    ASSERT_TRUE(emitted);
    EXPECT_EQ(emitted->remote_invalidation(), takes);
  }
}

// A device whose longest message is short, and a peer on it that calls the server.
class ShortMessages : public protocol::testing::FakeFabric {
 public:
  static constexpr std::uint32_t kLongest = 1000;

  ShortMessages() { all_.message = kLongest; }
  const fabric::Limits& limits() const override { return all_; }
  fabric::Expected<std::unique_ptr<fabric::Listener>> listen(std::uint16_t,
                                                             std::uint64_t cookie) override {
    fabric::Event& event = add(fabric::EventType::kRequest, cookie);
    event.request = connection();
    return std::make_unique<fabric::Listener>();
  }
  bool poll(fabric::Event& event) override {
    if (events_.empty()) return false;
    event = std::move(events_.front());
    events_.pop_front();
    return true;
  }
  std::size_t poll(std::span<fabric::Completion> completions) override {
    if (done_.empty() || completions.empty()) return 0;
    completions[0] = done_.front();
    done_.pop_front();
    return 1;
  }
  bool arm() override { return done_.empty() && events_.empty(); }

  void establish() { add(fabric::EventType::kEstablished, *accepted); }
  void arrive(const std::vector<std::uint8_t>& message) {
    const Receive r = receives.front();
    receives.pop_front();
    std::memcpy(r.local.data, message.data(), message.size());
    fabric::Completion& c = done_.emplace_back();
    c.id = r.id;
    c.connection = *accepted;
    c.operation = fabric::Operation::kReceive;
    c.bytes = static_cast<std::uint32_t>(message.size());
  }

 private:
  fabric::Event& add(fabric::EventType type, std::uint64_t cookie) {
    fabric::Event& event = events_.emplace_back();
    event.type = type;
    event.cookie = cookie;
    return event;
  }

  fabric::Limits all_;
  std::deque<fabric::Event> events_;
  std::deque<fabric::Completion> done_;
};

TEST(ServersDeviceLimits, LongSegmentsAreReadInPartsThatTheDeviceCan) {
  ShortMessages provider;
  const auto loop = Loop::create(provider).value();
  const auto server = Server::create(*loop, {}).value();
  const auto until = [&](auto condition) {
    for (int turns = 0; !condition() && turns < 10'000; ++turns) {
      EXPECT_TRUE(loop->run_once(fabric::kMillisecond));
    }
    return condition();
  };
  ASSERT_TRUE(until([&] { return provider.accepted.has_value(); }));
  provider.establish();
  ASSERT_TRUE(until([&] { return server->connections() == 1; }));
  wire::Header header;
  header.credit = 1;
  const std::array<wire::ReadSegment, 1> reads{{{0, {7, 2500, 0}}}};
  header.proc = wire::Proc::kNomsg;
  header.reads = reads;
  std::vector<std::uint8_t> call(wire::encoded_size(header));
  ASSERT_TRUE(wire::encode_header(header, call));
  provider.arrive(call);
  ASSERT_TRUE(until([&] { return !provider.posted.empty(); }));
  std::vector<std::uint32_t> lengths;
  for (const auto& read : provider.posted) {
    EXPECT_EQ(read.operation, fabric::Operation::kRead);
    lengths.push_back(read.local[0].length);
  }
  EXPECT_THAT(lengths, ::testing::ElementsAre(1000, 1000, 500));
}

}  // namespace
}  // namespace rpcrdma::service
