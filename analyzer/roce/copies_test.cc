// Tests of copies of packets in a capture, apart from real retransmissions between them.
#include "support/roce_packets.h"

#include <gtest/gtest.h>

#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::roce {
namespace {

using namespace testing;
using wire::Opcode;

constexpr std::uint32_t kClientQp = 0x11, kServerQp = 0x22;

struct CountedAnswers : Listener {
  std::size_t sends = 0, acks = 0;
  void on_send(const Connection&, const SendMessage&) override { ++sends; }
  void on_acknowledge(const Acknowledgement&) override { ++acks; }
};

struct CopiesTest : ::testing::Test {
  CountedAnswers recorded;
  Tracker tracker{recorded};
  Wire net{tracker};
  std::uint32_t psn = 10;

  struct Sent {
    std::uint8_t from;
    wire::RocePacket packet;
    std::uint16_t ip_id;
    std::int64_t at;
  };
  const std::vector<std::uint8_t> call = pattern(40), reply = pattern(40, 9);

  void give(const Sent& sent, std::int64_t at) {
    net.now_ns = at - 1000;
    net.ip_id = sent.ip_id;
    net.give(sent.from, sent.from == kA ? kB : kA, sent.packet);
  }

  // A Call, its ACK, a Reply, its ACK, 50 us apart.
  std::vector<Sent> exchange(std::int64_t at, std::uint16_t id = 0, std::uint16_t step = 0) {
    const std::uint32_t n = psn++;
    const auto next = [&] { return std::exchange(id, static_cast<std::uint16_t>(id + step)); };
    return {{kA, packet(Opcode::kSendOnly, kServerQp, n, call), next(), at},
            {kB, ack(kClientQp, n), next(), at + 50'000},
            {kB, packet(Opcode::kSendOnly, kClientQp, n + 500, reply), next(), at + 100'000},
            {kA, ack(kServerQp, n + 500), next(), at + 150'000}};
  }

  // Gives all packets in order of time, each again after `lag` if `both`, or if A sent it.
  void mirror(const std::vector<Sent>& all, std::int64_t lag, bool both = true) {
    std::vector<std::pair<std::int64_t, const Sent*>> order;
    for (const Sent& sent : all) {
      order.emplace_back(sent.at, &sent);
      if (both || sent.from == kA) order.emplace_back(sent.at + lag, &sent);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, sent] : order) give(*sent, at);
  }

  std::vector<Sent> exchanges(std::size_t n, std::uint16_t id = 0, std::uint16_t step = 0) {
    std::vector<Sent> all;
    for (std::size_t i = 0; i < n; ++i) {
      const auto more = exchange(static_cast<std::int64_t>(i + 1) * 200'000,
                                 static_cast<std::uint16_t>(id + 4 * i * step), step);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  void expect(std::uint64_t copies, std::uint64_t retransmitted, std::size_t calls) {
    EXPECT_EQ(tracker.stats().captured_twice, copies);
    EXPECT_EQ(tracker.stats().retransmitted, retransmitted);
    EXPECT_EQ(recorded.sends, 2 * calls);
    EXPECT_EQ(recorded.acks, 2 * calls);
    EXPECT_EQ(tracker.stats().lost_network, 0U);
    EXPECT_EQ(tracker.stats().lost_capture, 0U);
    EXPECT_EQ(tracker.stats().reordered, 0U);
  }
};

TEST_F(CopiesTest, ByAMirrorWithConstantIdentifications) {
  mirror(exchanges(20), 3'000);
  expect(80, 0, 20);
}

TEST_F(CopiesTest, ByAMirrorThatDelays) {
  mirror(exchanges(20), 2'000'000);
  expect(80, 0, 20);
}

TEST_F(CopiesTest, ByAMirrorOfOneDirection) {
  mirror(exchanges(20), 3'000, false);
  expect(40, 0, 20);
}

TEST_F(CopiesTest, WithCountedIdentifications) {
  mirror(exchanges(20, 5000, 1), 700'000);
  expect(80, 0, 20);
}

TEST_F(CopiesTest, InAnotherOrder) {
  // The copy of each packet comes before that of the one before it.
  const auto all = exchanges(20);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    give(all[i], all[i].at);
    give(all[i + 1], all[i].at + 10'000);
    give(all[i + 1], all[i].at + 13'000);
    give(all[i], all[i].at + 14'000);
  }
  expect(80, 0, 20);
}

TEST_F(CopiesTest, FromAnotherVantageAreCopiesAtAnyTime) {
  for (const Sent& sent : exchanges(20)) {
    net.vantage = 1;
    give(sent, sent.at);
    net.vantage = 2;
    give(sent, sent.at + 20'000'000);
  }
  expect(80, 0, 20);
}

TEST_F(CopiesTest, FromThreeVantages) {
  for (const Sent& sent : exchanges(20)) {
    for (net.vantage = 0; net.vantage < 3; ++net.vantage) give(sent, sent.at + net.vantage);
  }
  expect(160, 0, 20);
}

// From two vantages, what was sent again is seen again from both.
TEST_F(CopiesTest, RetransmissionsSeenFromTwoVantages) {
  const auto all = exchanges(10);
  for (const Sent& sent : all) {
    for (net.vantage = 0; net.vantage < 2; ++net.vantage) give(sent, sent.at);
  }
  for (int time = 0; time < 3; ++time) {
    const std::int64_t at = all.back().at + (time + 1) * 50'000'000;
    for (net.vantage = 0; net.vantage < 2; ++net.vantage) give(all[36], at);
  }
  EXPECT_EQ(tracker.stats().captured_twice, 43U);
  EXPECT_EQ(tracker.stats().retransmitted, 3U);
}

// Go-back-N within the mirror's delay: each packet comes four times and was sent twice.
TEST_F(CopiesTest, RetransmissionsInAMirror) {
  for (const std::int64_t lag : {3'000, 2'000'000}) {
    CountedAnswers heard;
    Tracker other(heard);
    Wire wire(other);
    const auto all = exchanges(20);
    std::vector<std::pair<std::int64_t, Sent>> order;
    for (const Sent& sent : all) {
      order.emplace_back(sent.at, sent);
      order.emplace_back(sent.at + lag, sent);
    }
    const std::int64_t then = all.back().at + 10'000'000;
    const std::uint32_t next = psn;
    for (const std::int64_t later : {std::int64_t{0}, lag}) {
      // The first of three is lost on its way to the mirror.
      for (std::uint32_t i = 1; i < 3; ++i) {
        order.emplace_back(then + i * 1000 + later,
                           Sent{kA, packet(Opcode::kSendOnly, kServerQp, next + i, call), 0, 0});
      }
      order.emplace_back(then + 10'000 + later, Sent{kB, nak(kClientQp, next), 0, 0});
      for (std::uint32_t i = 0; i < 3; ++i) {
        order.emplace_back(then + 20'000 + i * 1000 + later,
                           Sent{kA, packet(Opcode::kSendOnly, kServerQp, next + i, call), 0, 0});
      }
      order.emplace_back(then + 40'000 + later, Sent{kB, ack(kClientQp, next + 2), 0, 0});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, sent] : order) {
      wire.now_ns = at - 1000;
      wire.give(sent.from, sent.from == kA ? kB : kA, sent.packet);
    }
    psn += 3;
    EXPECT_EQ(other.stats().captured_twice, 80U + 7U) << lag;
    EXPECT_EQ(other.stats().retransmitted, 3U) << lag;
    EXPECT_EQ(other.stats().lost_network, 1U) << lag;
    EXPECT_EQ(other.stats().nak, 1U) << lag;
    EXPECT_EQ(heard.sends, 43U) << lag;
  }
}

// A timeout, an RNR NAK, and a duplicate that the network made: no copies.
TEST_F(CopiesTest, WithoutAMirrorNothingIsACopy) {
  const auto all = exchanges(20);
  for (const Sent& sent : all) give(sent, sent.at);
  std::int64_t at = all.back().at + 100'000;
  const Sent request{kA, packet(Opcode::kSendOnly, kServerQp, psn, call), 0, 0};
  const Sent rnr{kB, ack(kClientQp, psn, 0x20 | 12), 0, 0};
  give(request, at);
  give(rnr, at + 5'000);
  give(request, at + 25'000);
  give(rnr, at + 30'000);
  give(request, at + 60'000);
  give(request, at + 61'000);
  EXPECT_EQ(tracker.stats().captured_twice, 0U);
  EXPECT_EQ(tracker.stats().retransmitted, 3U);
  EXPECT_EQ(tracker.stats().rnr, 2U);
}

// What a mirror copies before it is known counts once as a retransmission.
TEST_F(CopiesTest, AMirrorThatIsSwitchedOn) {
  const auto all = exchanges(40);
  for (std::size_t i = 0; i < 80; ++i) give(all[i], all[i].at);
  mirror({all.begin() + 80, all.end()}, 3'000);
  EXPECT_EQ(tracker.stats().captured_twice, 78U);
  EXPECT_EQ(tracker.stats().retransmitted, 1U);  // an ACK that comes again is not one
}

TEST_F(CopiesTest, ACopyReplacesADamagedPacket) {
  const auto all = exchanges(20);
  mirror(all, 3'000);
  const wire::RocePacket request = packet(Opcode::kSendOnly, kServerQp, psn, call);
  net.now_ns = all.back().at + 1'000'000;
  net.give(kA, kB, request, true);
  net.give(kA, kB, request);
  net.give(kA, kB, packet(Opcode::kSendOnly, kServerQp, psn + 1, call));
  net.give(kA, kB, packet(Opcode::kSendOnly, kServerQp, psn + 1, call), true);
  EXPECT_EQ(recorded.sends, 42U);
  EXPECT_EQ(tracker.stats().captured_twice, 82U);
  EXPECT_EQ(tracker.stats().retransmitted, 0U);
  EXPECT_EQ(tracker.stats().reordered, 0U);
  EXPECT_EQ(tracker.stats().icrc_bad, 2U);
}

}  // namespace
}  // namespace rpcrdma::roce
