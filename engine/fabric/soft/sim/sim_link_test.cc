// Nodes on a simulated network: delays, bandwidth, queues, impairments, faults, and repeatability.
#include "support/counting_new.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/soft/sim_network.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using fabric::Address;
using fabric::kMicrosecond;
using fabric::kMillisecond;
using fabric::kSecond;
using fabric::Time;

constexpr auto kOut = FaultDirection::kOut;
constexpr auto kIn = FaultDirection::kIn;

Address address(std::uint32_t n) {
  return fabric::make_ipv4(10, static_cast<std::uint8_t>(n >> 16),
                           static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n));
}

FaultPlan plan(std::string_view text) {
  auto parsed = parse_faults(text);
  EXPECT_TRUE(parsed) << describe(parsed.error());
  return parsed ? std::move(*parsed) : FaultPlan{};
}

// Sends numbered SENDs and stores received packets.
class Node : public SimNode {
 public:
  struct Came {
    Time time = 0;
    std::uint32_t psn = 0;
  };

  explicit Node(Address own) : own_(own) {}

  void send(const Address& to, std::uint32_t psn, std::size_t payload = 0) {
    to_send_.push_back({{own_, to, 0xc123}, psn, payload});
  }
  void receive(const Path& path, wire::Bytes packet, Time now) override {
    last_path = path;
    last_bytes.assign(packet.begin(), packet.end());
    came.push_back({now, wire::load_be24(packet.data() + 9)});
    if (echo) send(path.remote, came.back().psn);
  }
  bool transmit(OutPacket& packet, Time) override {
    if (to_send_.empty()) return false;
    sending_ = to_send_.front();
    to_send_.pop_front();
    payload_.assign(sending_.payload, 0x5a);
    packet.path = &sending_.path;
    packet.header.fill(0);
    packet.header[0] = static_cast<std::uint8_t>(wire::Opcode::kSendOnly);
    packet.header[7] = 0x11;
    wire::store_be24(packet.header.data() + 9, sending_.psn);
    packet.header_bytes = wire::kBthBytes;
    packet.payload[0] = payload_;
    packet.payload_parts = 1;
    packet.payload_bytes = static_cast<std::uint32_t>(sending_.payload);
    packet.pad_bytes = static_cast<std::uint8_t>(-sending_.payload & 3);
    return true;
  }
  Time deadline() override { return timer; }
  void expire(Time now) override {
    expired.push_back(now);
    timer = fabric::kNever;
  }

  [[nodiscard]] std::string psns() const {
    std::string all;
    for (const Came& c : came) all += (all.empty() ? "" : " ") + std::to_string(c.psn);
    return all;
  }
  [[nodiscard]] std::vector<Time> times() const {
    std::vector<Time> all;
    for (const Came& c : came) all.push_back(c.time);
    return all;
  }

  std::vector<Came> came;
  std::vector<Time> expired;
  Path last_path;
  std::vector<std::uint8_t> last_bytes;
  Time timer = fabric::kNever;
  bool echo = false;

 private:
  struct Sent {
    Path path;
    std::uint32_t psn = 0;
    std::size_t payload = 0;
  };
  Address own_;
  std::deque<Sent> to_send_;
  Sent sending_;
  std::vector<std::uint8_t> payload_;
};

// Two nodes; the first one's link is configurable.
struct Pair {
  explicit Pair(SimLink link = {}, std::uint64_t seed = 1, SimLink other = {}) : network(seed) {
    id_a = network.add(address(1), a, std::move(link));
    id_b = network.add(address(2), b, std::move(other));
  }
  void send(std::uint32_t count, std::size_t payload = 0) {
    for (std::uint32_t psn = 1; psn <= count; ++psn) a.send(address(2), psn, payload);
  }
  bool run() { return network.run_until_idle(network.now() + kSecond); }

  SimNetwork network;
  Node a{address(1)};
  Node b{address(2)};
  SimNetwork::NodeId id_a = 0;
  SimNetwork::NodeId id_b = 0;
};

TEST(SimNetwork, CarriesAPacketAsItIs) {
  Pair pair;
  pair.a.send(address(2), 0x010203, 6);
  EXPECT_TRUE(pair.run());
  ASSERT_EQ(pair.b.came.size(), 1U);
  EXPECT_EQ(pair.b.last_path, (Path{address(2), address(1), 0xc123}));
  // BTH, payload and pad; no ICRC.
  EXPECT_THAT(pair.b.last_bytes, ::testing::ElementsAre(4, 0, 0, 0, 0, 0, 0, 0x11, 0, 1, 2, 3, 0x5a,
                                                        0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0, 0));
  EXPECT_EQ(pair.network.counters().delivered, 1U);
}

TEST(SimNetwork, OverIpv6) {
  SimNetwork network(1);
  const Address one = *fabric::parse_address("fd00::1");
  const Address two = *fabric::parse_address("fd00::2");
  Node a(one);
  Node b(two);
  network.add(one, a);
  network.add(two, b);
  a.send(two, 9, 5);
  EXPECT_TRUE(network.run_until_idle(kSecond));
  EXPECT_EQ(b.psns(), "9");
}

TEST(SimNetwork, DelaysOfBothLinksAddUp) {
  Pair pair({.out = {.delay = 3 * kMicrosecond}}, 1, {.out = {}, .in = {.delay = kMicrosecond}});
  pair.send(1);
  pair.run();
  EXPECT_THAT(pair.b.times(), ::testing::ElementsAre(4000));
}

// BTH 12, payload 1000, ICRC 4: 1016 bytes, 1082 on the wire. That takes 8656 ns at 1 Gb/s; the
// receiver's link, at half the rate, takes 17312 ns for each, starting when the first has arrived.
TEST(SimNetwork, BandwidthOfBothLinks) {
  Pair pair({.out = {.delay = 1000, .bits_per_second = 1'000'000'000}}, 1,
            {.out = {}, .in = {.delay = 500, .bits_per_second = 500'000'000}});
  pair.send(2, 1000);
  pair.run();
  const Time first = 8656 + 1000 + 17312 + 500;
  EXPECT_THAT(pair.b.times(), ::testing::ElementsAre(first, first + 17312));
}

// Both senders' packets meet at the receiver's link, which holds two of 1082 bytes.
TEST(SimNetwork, AQueueInFrontOfTheReceiver) {
  SimNetwork network(1);
  Node a(address(1));
  Node b(address(2));
  Node c(address(3));
  network.add(address(1), a);
  network.add(address(2), b);
  const auto id = network.add(
      address(3), c, {.out = {}, .in = {.bits_per_second = 1'000'000'000, .queue_bytes = 2164}});
  for (std::uint32_t psn = 1; psn < 3; ++psn) {
    a.send(address(3), psn, 1000);
    b.send(address(3), 10 + psn, 1000);
  }
  EXPECT_TRUE(network.run_until_idle(kSecond));
  EXPECT_EQ(c.psns(), "1 2");
  EXPECT_EQ(network.counters(id, kIn).packets, 4U);
  EXPECT_EQ(network.counters(id, kIn).queue_drops, 2U);
}

TEST(SimNetwork, KeepsTheOrder) {
  Pair pair({.out = {.delay = 10, .bits_per_second = 10'000'000'000}});
  pair.send(1000, 64);
  pair.run();
  ASSERT_EQ(pair.b.came.size(), 1000U);
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(pair.b.came[i].psn, i + 1);
}

TEST(SimNetwork, LosesAndDuplicatesAndReorders) {
  Pair lossy({.out = {.loss = 0.1}}, 7);
  lossy.send(10'000);
  lossy.run();
  EXPECT_EQ(lossy.b.came.size(), 10'000 - lossy.network.counters(lossy.id_a, kOut).lost);
  EXPECT_NEAR(static_cast<double>(lossy.b.came.size()), 9000, 150);

  Pair twice({.out = {.delay = 1}, .in = {}}, 7, {.out = {}, .in = {.duplication = 0.1}});
  twice.send(10'000);
  twice.run();
  EXPECT_EQ(twice.b.came.size(), 10'000 + twice.network.counters(twice.id_b, kIn).duplicated);
  EXPECT_NEAR(static_cast<double>(twice.b.came.size()), 11'000, 150);
  EXPECT_TRUE(std::is_sorted(twice.b.came.begin(), twice.b.came.end(),
                             [](const auto& x, const auto& y) { return x.psn < y.psn; }));

  Pair late({.out = {.reordering = 0.1, .reordering_delay = 100}}, 7);
  late.send(1000);
  late.run();
  EXPECT_EQ(late.b.came.size(), 1000U);
  const auto on_time = std::count_if(late.b.came.begin(), late.b.came.end(),
                                     [](const auto& c) { return c.time == 0; });
  EXPECT_EQ(1000 - static_cast<std::uint64_t>(on_time),
            late.network.counters(late.id_a, kOut).reordered);
  EXPECT_EQ(late.b.came.back().time, 100);
}

TEST(SimNetwork, WhatIsCorruptDoesNotArrive) {
  Pair pair({.out = {.corruption = 0.25}}, 3);
  pair.send(4000, 40);
  pair.run();
  const std::uint64_t corrupted = pair.network.counters(pair.id_a, kOut).corrupted;
  EXPECT_NEAR(static_cast<double>(corrupted), 1000, 140);
  EXPECT_EQ(pair.network.counters().icrc_drops, corrupted);
  EXPECT_EQ(pair.b.came.size(), 4000 - corrupted);
}

TEST(SimNetwork, FaultsOnTheWayOut) {
  Pair pair({.faults = plan("drop dir=out psn=2; duplicate dir=out psn=3; reorder dir=out psn=5;"
                            "drop dir=in; corrupt dir=out psn=7 byte=9 bit=0")});
  pair.send(8);
  pair.run();
  EXPECT_EQ(pair.b.psns(), "1 3 3 4 6 5 8");
  EXPECT_EQ(pair.network.counters().icrc_drops, 1U);
  EXPECT_EQ(pair.network.faults(pair.id_a).injector().counters(0).applied, 1U);
}

TEST(SimNetwork, FaultsOnTheWayIn) {
  Pair pair({.out = {.delay = 100}}, 1,
            {.faults = plan("drop dir=in psn=2; duplicate dir=in psn=3; delay dir=in psn=4 by=7us;"
                            "reorder dir=in psn=5; corrupt dir=in psn=7; drop dir=out")});
  pair.send(8);
  pair.run();
  EXPECT_EQ(pair.b.psns(), "1 3 3 6 5 8 4");
  EXPECT_EQ(pair.b.came.back().time, 7100);
  EXPECT_EQ(pair.network.counters().icrc_drops, 1U);
}

TEST(SimNetwork, ADelayOnTheWayOutEndsByItself) {
  Pair pair({.out = {.delay = 100}, .faults = plan("delay by=2us")});
  pair.send(1);
  pair.run();
  EXPECT_THAT(pair.b.times(), ::testing::ElementsAre(2100));
}

TEST(SimNetwork, FaultsThatComeLater) {
  Pair pair;
  pair.send(1);
  pair.run();
  pair.network.set_faults(pair.id_a, plan("drop nth=1"));
  pair.send(2);
  pair.run();
  EXPECT_EQ(pair.b.psns(), "1 2");
  EXPECT_EQ(pair.network.faults(pair.id_a).injector().counters(0).matched, 2U);
}

TEST(SimNetwork, LinksThatChange) {
  Pair pair;
  pair.network.change(pair.id_b, kIn, {.loss = 1});
  pair.send(3);
  pair.run();
  EXPECT_EQ(pair.b.psns(), "");
  pair.network.change(pair.id_b, kIn, {});
  pair.send(3);
  pair.run();
  EXPECT_EQ(pair.b.psns(), "1 2 3");
}

TEST(SimNetwork, TimersExpireAtTheirTime) {
  Pair pair;
  pair.a.timer = 70;
  pair.b.timer = 50;
  EXPECT_TRUE(pair.run());
  EXPECT_THAT(pair.a.expired, ::testing::ElementsAre(70));
  EXPECT_THAT(pair.b.expired, ::testing::ElementsAre(50));
  EXPECT_EQ(pair.network.now(), 70);
}

TEST(SimNetwork, RunsUntilAConditionOrALimit) {
  Pair pair({.out = {.delay = 10, .bits_per_second = 1'000'000'000}});
  pair.send(10, 1000);
  EXPECT_TRUE(pair.network.run_until([&] { return pair.b.came.size() == 3; }, kSecond));
  EXPECT_EQ(pair.network.now(), 3 * 8656 + 10);
  EXPECT_FALSE(pair.network.run_until([&] { return pair.b.came.size() == 10; }, 40'000));
  EXPECT_EQ(pair.network.now(), 40'000);
  EXPECT_EQ(pair.b.came.size(), 4U);
  pair.network.run_for(10'000);
  EXPECT_EQ(pair.network.now(), 50'000);
  EXPECT_EQ(pair.b.came.size(), 5U);
  EXPECT_FALSE(pair.network.run_until([] { return false; }, fabric::kNever));
  EXPECT_EQ(pair.b.came.size(), 10U);
}

TEST(SimNetwork, WorkGivenWhileItRunsIsSeenWithWake) {
  Pair pair;
  pair.send(1);
  bool asked = false;
  pair.network.run_until(
      [&] {
        if (!asked && pair.b.came.size() == 1) {
          asked = true;
          pair.b.send(address(1), 77);
          pair.network.wake(pair.id_b);
        }
        return false;
      },
      kSecond);
  EXPECT_EQ(pair.a.psns(), "77");
}

TEST(SimNetwork, AnAddressThatNobodyHas) {
  Pair pair;
  pair.a.send(address(9), 1);
  EXPECT_TRUE(pair.run());
  EXPECT_EQ(pair.network.counters().unroutable, 1U);
}

TEST(SimNetwork, ARemovedNodeGetsNothing) {
  Pair pair({.out = {.delay = 10}}, 1, {.out = {}, .in = {.delay = 10}});
  pair.send(1);
  // Past the switch: on the link of the removed node.
  pair.network.run_for(15);
  pair.network.remove(pair.id_b);
  pair.send(1);
  EXPECT_TRUE(pair.run());
  EXPECT_EQ(pair.b.psns(), "");
  EXPECT_EQ(pair.network.counters().unroutable, 2U);
  Node again(address(2));
  pair.network.add(address(2), again);
  pair.send(1);
  EXPECT_TRUE(pair.run());
  EXPECT_EQ(again.psns(), "1");
}

TEST(SimNetwork, ANodeMaySendToItself) {
  Pair pair;
  pair.a.send(address(1), 4);
  EXPECT_TRUE(pair.run());
  EXPECT_EQ(pair.a.psns(), "4");
}

SimLink rough() {
  return {.out = {.delay = 1000,
                  .bits_per_second = 1'000'000'000,
                  .queue_bytes = 200'000,
                  .loss = 0.05,
                  .corruption = 0.05,
                  .duplication = 0.05,
                  .reordering = 0.05},
          .in = {.delay = 500, .loss = 0.01},
          .faults = plan("drop rate=0.1 seed=4; delay rate=0.1 by=5us jitter=20us; corrupt "
                         "rate=0.02; reorder rate=0.05 by=3")};
}

// A run over bad links with echoes; the hash shows whether two runs were equal.
std::uint64_t rough_run(std::uint64_t seed) {
  Pair pair(rough(), seed, rough());
  pair.b.echo = true;
  pair.send(2000, 100);
  EXPECT_TRUE(pair.network.run_until_idle(100 * kSecond));
  EXPECT_GT(pair.a.came.size(), 500U);
  return pair.network.trace_hash();
}

TEST(SimNetwork, EqualSeedsEqualRuns) {
  const std::uint64_t once = rough_run(1);
  EXPECT_EQ(once, rough_run(1));
  EXPECT_NE(once, rough_run(2));
}

TEST(SimNetwork, TheHashShowsContentAndTime) {
  const auto hash = [](Time delay, std::size_t payload) {
    Pair pair({.out = {.delay = delay}});
    pair.send(1, payload);
    pair.run();
    return pair.network.trace_hash();
  };
  EXPECT_EQ(hash(5, 4), hash(5, 4));
  EXPECT_NE(hash(5, 4), hash(6, 4));
  EXPECT_NE(hash(5, 4), hash(5, 8));
}

// A node's random events do not depend on the other nodes.
TEST(SimNetwork, ANodeMoreChangesNothingForTheOthers) {
  Pair two({.out = {.loss = 0.5}}, 5);
  two.send(200);
  two.run();
  Pair three({.out = {.loss = 0.5}}, 5);
  Node c(address(3));
  three.network.add(address(3), c, {.out = {.loss = 0.5}});
  for (int i = 0; i < 100; ++i) c.send(address(2), 9'999);
  three.send(200);
  three.run();
  auto& came = three.b.came;
  came.erase(std::remove_if(came.begin(), came.end(), [](const auto& x) { return x.psn == 9'999; }),
             came.end());
  EXPECT_EQ(two.b.psns(), three.b.psns());
}

// Each node sends to the next ten and gets an echo, with its own losses.
TEST(SimNetwork, TwoThousandNodes) {
  constexpr std::uint32_t kNodes = 2000;
  constexpr std::uint32_t kPeers = 10;
  const auto run = [] {
    SimNetwork network(11);
    std::deque<Node> nodes;
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      Node& node = nodes.emplace_back(address(i));
      node.timer = kMillisecond + i;
      network.add(address(i), node,
                  {.out = {.delay = 1000 + i, .bits_per_second = 10'000'000'000, .loss = 0.001}});
      for (std::uint32_t k = 1; k <= kPeers; ++k) node.send(address((i + k) % kNodes), k, 256);
    }
    EXPECT_TRUE(network.run_until_idle(kSecond));
    for (const Node& node : nodes) EXPECT_EQ(node.expired.size(), 1U);
    const std::uint64_t sent = std::uint64_t{kNodes} * kPeers;
    EXPECT_GT(network.counters().delivered, sent * 99 / 100);
    EXPECT_LE(network.counters().delivered, sent);
    // Switch and arrival of each packet, and three calls of each node: no superfluous event.
    EXPECT_LE(network.counters().events, 2 * sent + 3 * kNodes);
    return network.trace_hash();
  };
  EXPECT_EQ(run(), run());
}

// Answers each packet at once, without allocating.
class Bouncer : public SimNode {
 public:
  Bouncer(const Address& own, const Address& to, bool begins)
      : path_{own, to, 0xc000}, owes_(begins) {}
  void receive(const Path&, wire::Bytes, Time) override {
    owes_ = true;
    ++count;
  }
  bool transmit(OutPacket& packet, Time) override {
    packet.path = &path_;
    packet.header.fill(0);
    packet.header_bytes = wire::kBthBytes;
    packet.payload_bytes = 0;
    packet.payload_parts = 0;
    packet.pad_bytes = 0;
    return std::exchange(owes_, false);
  }
  Time deadline() override { return fabric::kNever; }
  void expire(Time) override {}

  std::uint64_t count = 0;

 private:
  Path path_;
  bool owes_;
};

TEST(SimNetwork, NoEventTakesMemoryOfItsOwn) {
  SimNetwork network(1);
  Bouncer a(address(1), address(2), true);
  Bouncer b(address(2), address(1), false);
  network.add(address(1), a);
  network.add(address(2), b, {.faults = plan("duplicate psn=1; delay rate=0.1 by=3us")});
  network.run_for(kMillisecond);
  const std::uint64_t before = a.count;
  EXPECT_EQ(wire::testing::allocations_in([&] { network.run_for(kMillisecond); }), 0U);
  EXPECT_GT(a.count - before, 50U);
}

}  // namespace
}  // namespace rpcrdma::soft
