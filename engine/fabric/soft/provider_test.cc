// The provider's use of its socket's readiness. tests/fabric covers connections over real sockets.
#include "support/emitted_events.h"
#include "udp/failing_send.h"

#include <cerrno>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/soft/provider.h>

namespace rpcrdma::soft {
namespace {

// An address for this process only, since tests run in parallel.
fabric::Address address(std::uint8_t last) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return fabric::make_ipv4(127, static_cast<std::uint8_t>(200 + pid % 50),
                           static_cast<std::uint8_t>(pid / 50), last);
}

std::unique_ptr<SoftProvider> open(std::uint8_t last, trace::Tracer* tracer = nullptr) {
  ProviderOptions options;
  options.adapter.address = address(last);
  options.adapter.tracer = tracer;
  auto opened = SoftProvider::open(options);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  return opened ? std::move(*opened) : nullptr;
}

bool readable(const SoftProvider& provider, int milliseconds) {
  pollfd fd{provider.fd(), POLLIN, 0};
  return ::poll(&fd, 1, milliseconds) == 1;
}

constexpr int kLong = 10'000;

TEST(SoftProvider, WhatTheSocketHadNoRoomForGoesWhenItHas) {
  const auto from = open(1);
  const auto to = open(2);
  ASSERT_TRUE(from && to);
  const FailingSend full({EAGAIN, EAGAIN});
  const auto connection = from->connect(address(2), 1, {});
  ASSERT_TRUE(connection);
  from->progress();
  EXPECT_EQ(full.calls().size(), 1U);
  ASSERT_TRUE(from->arm());
  EXPECT_EQ(full.calls().size(), 2U);
  EXPECT_EQ(from->counters().udp.sent_packets, 0U);
  // At once, without waiting for the connection manager's timer.
  ASSERT_TRUE(readable(*from, 0));
  from->progress();
  EXPECT_EQ(from->counters().udp.sent_packets, 1U);
  ASSERT_TRUE(from->arm());
  EXPECT_FALSE(readable(*from, 0));
}

TEST(SoftProvider, ShowsWhatMemoryIsRegistered) {
  trace::testing::Emitted emitted(0);
  const auto provider = open(1, &emitted.tracer);
  ASSERT_TRUE(provider);
  std::vector<std::uint8_t> bytes(5000);
  const std::string where =
      fmt::format(": 5000 bytes at {:x}", reinterpret_cast<std::uintptr_t>(bytes.data()));
  EXPECT_FALSE(provider->register_memory({}));
  EXPECT_THAT(emitted.take(), ::testing::IsEmpty());
  const fabric::Memory memory = provider->register_memory(bytes).value();
  EXPECT_THAT(emitted.take(), ::testing::ElementsAre("registration begins" + where));
  EXPECT_GT(emitted.times[0], 0);
  provider->deregister_memory(memory);
  EXPECT_THAT(emitted.take(), ::testing::ElementsAre("registration ends" + where));
  emitted.tracer.listen(false);
  provider->deregister_memory(provider->register_memory(bytes).value());
  EXPECT_THAT(emitted.take(), ::testing::IsEmpty());
}

TEST(SoftProvider, WhoPollsForAWhileAndThenSleepsIsWokenByAPacket) {
  const auto from = open(1);
  const auto to = open(2);
  ASSERT_TRUE(from && to);
  for (int i = 0; i < 100; ++i) to->progress();
  ASSERT_TRUE(to->arm());
  EXPECT_FALSE(readable(*to, 0));
  const auto connection = from->connect(address(2), 1, {});
  ASSERT_TRUE(connection);
  from->progress();
  EXPECT_TRUE(readable(*to, kLong));
  to->progress();
  EXPECT_EQ(to->counters().adapter.packets_in, 1U);
}

TEST(SoftProvider, APacketThatCameWhileItsOwnerPolledIsNotSleptOver) {
  const auto from = open(1);
  const auto to = open(2);
  ASSERT_TRUE(from && to);
  for (int i = 0; i < 100; ++i) to->progress();
  const auto connection = from->connect(address(2), 1, {});
  ASSERT_TRUE(connection);
  from->progress();
  ASSERT_TRUE(to->arm());
  EXPECT_TRUE(readable(*to, kLong));
}

TEST(SoftProvider, ItsFaultsChangeWhileItRuns) {
  const auto from = open(1);
  const auto to = open(2);
  ASSERT_TRUE(from && to);
  const auto drop = parse_faults("drop dir=out");
  const auto delay = parse_faults("delay dir=out by=60s");
  ASSERT_TRUE(drop && delay);
  from->set_faults(*drop);
  const auto first = from->connect(address(2), 1, {});
  ASSERT_TRUE(first);
  from->progress();
  EXPECT_EQ(from->counters().faults, 1U);
  EXPECT_EQ(from->counters().udp.sent_packets, 0U);

  from->set_faults(*delay);
  const auto second = from->connect(address(2), 1, {});
  ASSERT_TRUE(second);
  from->progress();
  EXPECT_EQ(from->counters().faults, 2U);
  EXPECT_EQ(from->counters().udp.sent_packets, 0U);
  // Delayed packets are sent, and so are later ones.
  from->set_faults({});
  EXPECT_EQ(from->counters().udp.sent_packets, 1U);
  const auto third = from->connect(address(2), 1, {});
  ASSERT_TRUE(third);
  from->progress();
  EXPECT_EQ(from->counters().udp.sent_packets, 2U);
  EXPECT_EQ(from->counters().faults, 2U);
}

}  // namespace
}  // namespace rpcrdma::soft
