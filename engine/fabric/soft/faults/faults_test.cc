// The effect of fault rules on packets.
#include "packets_for_tests.h"
#include "support/counting_new.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/soft/fault_gate.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

using fabric::kMicrosecond;
using fabric::kMillisecond;
using testing::cm_datagram;
using testing::Datagram;
using testing::datagram;
using testing::PacketSpec;
using wire::Opcode;

constexpr auto kOut = FaultDirection::kOut;
constexpr auto kIn = FaultDirection::kIn;

FaultPlan plan(std::string_view text) {
  auto parsed = parse_faults(text);
  EXPECT_TRUE(parsed) << describe(parsed.error());
  return parsed ? std::move(*parsed) : FaultPlan{};
}

Path to_peer(std::uint8_t last = 2) {
  return {fabric::make_ipv4(10, 0, 0, 1), fabric::make_ipv4(10, 0, 0, last), 0xc000};
}

// Passes packets to an injector, one after the other.
class Asked {
 public:
  explicit Asked(std::string_view rules, FaultLimits limits = {})
      : injector_(plan(rules), limits) {}

  bool out(const PacketSpec& spec) { return hit(kOut, to_peer(), datagram(spec)); }
  bool in(const PacketSpec& spec) { return hit(kIn, to_peer(), datagram(spec)); }
  bool hit(FaultDirection direction, const Path& path, const Datagram& bytes) {
    return ask(direction, path, bytes).action != FaultAction::kPass;
  }
  FaultVerdict ask(FaultDirection direction, const Path& path, const Datagram& bytes) {
    return injector_.ask(direction, path, bytes, 1000);
  }
  FaultInjector& injector() { return injector_; }

 private:
  FaultInjector injector_;
};

// "x" for each packet that a rule hit, "." for each that passed.
template <typename Make>
std::string hits(Asked& asked, std::uint32_t packets, Make make) {
  std::string found;
  for (std::uint32_t i = 0; i < packets; ++i) found += asked.out(make(i)) ? 'x' : '.';
  return found;
}
PacketSpec send(std::uint32_t psn) {
  return {.opcode = Opcode::kSendOnly, .psn = psn};
}

TEST(FaultSelectors, Direction) {
  Asked out("drop dir=out");
  EXPECT_TRUE(out.out({}));
  EXPECT_FALSE(out.in({}));
  Asked in("drop dir=in");
  EXPECT_FALSE(in.out({}));
  EXPECT_TRUE(in.in({}));
}

TEST(FaultSelectors, Opcode) {
  Asked asked("drop op=write|send-only");
  EXPECT_TRUE(asked.out({.opcode = Opcode::kWriteMiddle}));
  EXPECT_TRUE(asked.out({.opcode = Opcode::kSendOnly}));
  EXPECT_FALSE(asked.out({.opcode = Opcode::kSendFirst}));
  EXPECT_FALSE(asked.out({.opcode = Opcode::kReadRequest}));
}

// AETH syndromes: 0x1f is an ACK without credits, 0x60 a NAK for a PSN sequence error, 0x20 an RNR
// NAK.
TEST(FaultSelectors, KindsOfAcknowledge) {
  for (const auto& [op, syndrome] : std::initializer_list<std::pair<std::string, std::uint8_t>>{
           {"ack", std::uint8_t{0x1f}}, {"nak", std::uint8_t{0x60}}, {"rnr", std::uint8_t{0x20}}}) {
    Asked asked("drop op=" + op);
    for (const int other : {0x1f, 0x60, 0x20}) {
      EXPECT_EQ(asked.out({.opcode = Opcode::kAck, .syndrome = static_cast<std::uint8_t>(other)}),
                other == syndrome)
          << op << " " << other;
    }
    // A READ response has an AETH, too, but is not an ACK packet.
    EXPECT_FALSE(asked.out({.opcode = Opcode::kReadRespOnly, .syndrome = syndrome}));
  }
  Asked number("drop op=0x11");
  EXPECT_TRUE(number.out({.opcode = Opcode::kAck, .syndrome = 0x60}));
}

TEST(FaultSelectors, PsnAndItsEnd) {
  Asked asked("drop psn=0xfffffe-1");
  EXPECT_EQ(hits(asked, 6, [](std::uint32_t i) { return send((0xfffffd + i) & 0xffffff); }),
            ".xxxx.");
}

TEST(FaultSelectors, QueuePair) {
  Asked asked("drop qp=0x10-0x11");
  EXPECT_TRUE(asked.out({.qp = 0x11}));
  EXPECT_FALSE(asked.out({.qp = 0x12}));
}

TEST(FaultSelectors, NthCountsWhatFitsTheOthers) {
  Asked asked("drop op=ack nth=2-3");
  EXPECT_EQ(hits(asked, 8,
                 [](std::uint32_t i) {
                   return PacketSpec{.opcode = i % 2 == 0 ? Opcode::kAck : Opcode::kSendOnly};
                 }),
            "..x.x...");
  EXPECT_EQ(asked.injector().counters(0).matched, 4U);
  EXPECT_EQ(asked.injector().counters(0).applied, 2U);
  EXPECT_EQ(asked.injector().text(0), "drop op=ack nth=2-3");
}

TEST(FaultSelectors, CountEnds) {
  Asked asked("drop count=2");
  EXPECT_EQ(hits(asked, 4, send), "xx..");
}

TEST(FaultSelectors, AttemptsByPsn) {
  Asked first("drop attempt=1");
  Asked again("drop attempt=2");
  Asked later("drop attempt=2-");
  const std::vector<std::uint32_t> psns{7, 8, 9, 8, 9, 10, 8};
  const auto psn = [&psns](std::uint32_t i) { return send(psns[i]); };
  EXPECT_EQ(hits(first, 7, psn), "xxx..x.");
  EXPECT_EQ(hits(again, 7, psn), "...xx..");
  EXPECT_EQ(hits(later, 7, psn), "...xx.x");
}

TEST(FaultSelectors, AttemptsOverThePsnsEnd) {
  Asked asked("drop attempt=2");
  const std::vector<std::uint32_t> psns{0xffffff, 0, 1, 0xffffff, 0};
  EXPECT_EQ(hits(asked, 5, [&psns](std::uint32_t i) { return send(psns[i]); }), "...xx");
}

TEST(FaultSelectors, AttemptsOfRequestsAndResponsesAndDirectionsAndPeersAreApart) {
  Asked asked("drop attempt=2-");
  EXPECT_FALSE(asked.out(send(5)));
  EXPECT_FALSE(asked.out({.opcode = Opcode::kAck, .psn = 5}));
  EXPECT_FALSE(asked.in(send(5)));
  EXPECT_FALSE(asked.hit(kOut, to_peer(3), datagram(send(5))));
  EXPECT_FALSE(asked.out({.psn = 5, .qp = 0x12}));
  EXPECT_TRUE(asked.out(send(5)));
}

TEST(FaultSelectors, AttemptsFarBackCountAsTheSecond) {
  Asked asked("drop attempt=2");
  for (std::uint32_t psn = 0; psn <= kFaultTrackedPsns; ++psn) EXPECT_FALSE(asked.out(send(psn)));
  EXPECT_TRUE(asked.out(send(0)));
  EXPECT_TRUE(asked.out(send(0)));
  EXPECT_TRUE(asked.out(send(1)));
  EXPECT_FALSE(asked.out(send(1)));
}

// 10,000 bytes take three PSNs of 4096 bytes, the MTU that is assumed without a REQ.
TEST(FaultSelectors, AReadTakesPsnsAndIsRepeatedInPart) {
  Asked asked("drop attempt=2-");
  EXPECT_FALSE(asked.out({.opcode = Opcode::kReadRequest, .psn = 10, .dma_length = 10'000}));
  EXPECT_TRUE(asked.out({.opcode = Opcode::kReadRequest, .psn = 12, .dma_length = 1'808}));
  EXPECT_FALSE(asked.out(send(13)));
  Asked message("drop msg=1");
  EXPECT_TRUE(message.out({.opcode = Opcode::kReadRequest, .psn = 10, .dma_length = 10'000}));
  EXPECT_FALSE(message.out(send(13)));
  EXPECT_TRUE(message.out({.opcode = Opcode::kReadRequest, .psn = 12, .dma_length = 1'808}));
}

TEST(FaultSelectors, Messages) {
  Asked asked("drop msg=2");
  const std::vector<PacketSpec> packets{
      {.opcode = Opcode::kSendOnly, .psn = 1},    {.opcode = Opcode::kWriteFirst, .psn = 2},
      {.opcode = Opcode::kWriteMiddle, .psn = 3}, {.opcode = Opcode::kWriteLast, .psn = 4},
      {.opcode = Opcode::kSendOnly, .psn = 5},    {.opcode = Opcode::kWriteFirst, .psn = 2},
      {.opcode = Opcode::kWriteLast, .psn = 4},   {.opcode = Opcode::kSendOnly, .psn = 6},
      {.opcode = Opcode::kSendOnly, .psn = 1},    {.opcode = Opcode::kAck, .psn = 2}};
  EXPECT_EQ(hits(asked, 10, [&packets](std::uint32_t i) { return packets[i]; }), ".xxx.xx...");
}

TEST(FaultSelectors, ReadResponsesAreMessagesForThemselves) {
  Asked asked("drop msg=2");
  const std::vector<PacketSpec> packets{
      {.opcode = Opcode::kSendOnly, .psn = 100},    {.opcode = Opcode::kReadRespOnly, .psn = 1},
      {.opcode = Opcode::kReadRespFirst, .psn = 2}, {.opcode = Opcode::kReadRespMiddle, .psn = 3},
      {.opcode = Opcode::kReadRespLast, .psn = 4},  {.opcode = Opcode::kReadRespOnly, .psn = 5}};
  EXPECT_EQ(hits(asked, 6, [&packets](std::uint32_t i) { return packets[i]; }), "..xxx.");
}

TEST(FaultSelectors, MessagesLongAgoAreOfNone) {
  Asked asked("drop msg=1");
  EXPECT_TRUE(asked.out(send(0)));
  for (std::uint32_t i = 1; i < kFaultTrackedMessages; ++i) EXPECT_FALSE(asked.out(send(i)));
  EXPECT_TRUE(asked.out(send(0)));
  EXPECT_FALSE(asked.out(send(kFaultTrackedMessages)));
  EXPECT_FALSE(asked.out(send(0)));
}

TEST(FaultSelectors, ConnectionsInTheOrderOfTheirFirstPacketsWithoutTheCm) {
  Asked asked("drop conn=2");
  EXPECT_FALSE(asked.out({.qp = 0x11}));
  EXPECT_TRUE(asked.out({.qp = 0x12}));
  EXPECT_FALSE(asked.in({.qp = 0x21}));
  EXPECT_TRUE(asked.in({.qp = 0x22}));
  EXPECT_FALSE(asked.out({.qp = 0x11}));
  EXPECT_TRUE(asked.hit(kOut, to_peer(), datagram({.qp = 0x12})));
  EXPECT_FALSE(asked.hit(kOut, to_peer(3), datagram({.qp = 0x12})));
}

wire::CmReq req(std::uint32_t id, std::uint32_t qpn) {
  wire::CmReq r;
  r.local_comm_id = id;
  r.local_qpn = qpn;
  r.path_mtu = 3;  // 1024 bytes
  return r;
}
wire::CmRep rep(std::uint32_t id, std::uint32_t remote, std::uint32_t qpn) {
  wire::CmRep r;
  r.local_comm_id = id;
  r.remote_comm_id = remote;
  r.local_qpn = qpn;
  return r;
}

// Two connections set up at the same time, one from each side.
TEST(FaultSelectors, ConnectionsInTheOrderOfTheirReqs) {
  Asked asked("drop conn=2");
  const Path path = to_peer();
  EXPECT_FALSE(asked.hit(kOut, path, cm_datagram(req(1, 0x11), 1)));
  EXPECT_TRUE(asked.hit(kIn, path, cm_datagram(req(1, 0x22), 9)));
  EXPECT_TRUE(asked.hit(kIn, path, cm_datagram(req(1, 0x22), 9)));
  EXPECT_TRUE(asked.hit(kOut, path, cm_datagram(rep(2, 1, 0x12), 9)));
  EXPECT_FALSE(asked.hit(kIn, path, cm_datagram(rep(2, 1, 0x21), 1)));
  wire::CmRtu rtu;
  rtu.local_comm_id = 1;
  rtu.remote_comm_id = 2;
  EXPECT_TRUE(asked.hit(kIn, path, cm_datagram(rtu, 9)));
  EXPECT_FALSE(asked.hit(kOut, path, cm_datagram(rtu, 1)));
  // The second one sends first, but the order of the REQs counts.
  EXPECT_TRUE(asked.out({.qp = 0x22}));
  EXPECT_TRUE(asked.in({.qp = 0x12}));
  EXPECT_FALSE(asked.out({.qp = 0x21}));
  EXPECT_FALSE(asked.in({.qp = 0x11}));
  // The ID is reused: a third connection.
  EXPECT_FALSE(asked.hit(kIn, path, cm_datagram(req(1, 0x22), 10)));
  EXPECT_FALSE(asked.out({.qp = 0x22}));
}

TEST(FaultSelectors, CmMessagesByNameAndAttempt) {
  Asked asked("drop op=cm-req attempt=1");
  const Path path = to_peer();
  EXPECT_TRUE(asked.hit(kOut, path, cm_datagram(req(1, 0x11), 1)));
  EXPECT_FALSE(asked.hit(kOut, path, cm_datagram(req(1, 0x11), 1)));
  EXPECT_TRUE(asked.hit(kOut, path, cm_datagram(req(2, 0x12), 2)));
  EXPECT_FALSE(asked.hit(kIn, path, cm_datagram(rep(7, 1, 0x21), 1)));
  Asked any("drop op=cm");
  EXPECT_TRUE(any.hit(kIn, path, cm_datagram(rep(7, 1, 0x21), 1)));
  EXPECT_FALSE(any.out({}));
}

// The REQ specified 1024 bytes: 3,000 bytes take three PSNs.
TEST(FaultSelectors, TheReqShowsHowManyPsnsAReadTakes) {
  Asked asked("drop attempt=2-");
  const Path path = to_peer();
  EXPECT_FALSE(asked.hit(kOut, path, cm_datagram(req(1, 0x11), 1)));
  EXPECT_FALSE(asked.hit(kIn, path, cm_datagram(rep(2, 1, 0x21), 1)));
  EXPECT_FALSE(
      asked.out({.opcode = Opcode::kReadRequest, .psn = 10, .qp = 0x21, .dma_length = 3000}));
  EXPECT_TRUE(
      asked.out({.opcode = Opcode::kReadRequest, .psn = 12, .qp = 0x21, .dma_length = 952}));
  EXPECT_FALSE(asked.out({.psn = 13, .qp = 0x21}));
}

TEST(FaultRates, AreKept) {
  Asked asked("drop rate=0.01 seed=7");
  const Datagram bytes = datagram({});
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) taken += asked.hit(kOut, to_peer(), bytes) ? 1 : 0;
  // Five standard deviations of a binomial distribution: 5 * sqrt(100,000 * 0.01 * 0.99) = 157.
  EXPECT_NEAR(taken, 1000, 157);
  EXPECT_EQ(asked.injector().counters(0).applied, static_cast<std::uint64_t>(taken));
}

TEST(FaultRates, AnExactStreamForASeed) {
  // SplitMix64 from state 0: the first three outputs that its authors publish.
  Random random(0);
  EXPECT_EQ(random.next(), 0xe220a8397b1dcdafU);
  EXPECT_EQ(random.next(), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(random.next(), 0x06c45d188009454fU);
}

TEST(FaultRates, EqualSeedsEqualFaults) {
  const char* rules = "drop rate=0.3 seed=5; corrupt rate=0.3 seed=6; delay by=1us jitter=1ms";
  const auto run = [&](const char* text) {
    Asked asked(text);
    std::string all;
    for (std::uint32_t i = 0; i < 2000; ++i) {
      const FaultVerdict v = asked.ask(kOut, to_peer(), datagram(send(i)));
      all += std::to_string(static_cast<int>(v.action)) + "/" + std::to_string(v.byte) + "/" +
             std::to_string(v.bit) + "/" + std::to_string(v.until) + " ";
    }
    return all;
  };
  EXPECT_EQ(run(rules), run(rules));
  EXPECT_NE(run(rules),
            run("drop rate=0.3 seed=8; corrupt rate=0.3 seed=6; delay by=1us jitter=1ms"));
}

TEST(FaultRates, ARuleDecidesAlikeWhateverStandsBeforeIt) {
  Asked alone("drop rate=0.2 seed=5");
  Asked second("drop psn=0-49; drop rate=0.2 seed=5");
  const std::string a = hits(alone, 200, send);
  const std::string b = hits(second, 200, send);
  EXPECT_EQ(a.substr(50), b.substr(50));
  EXPECT_EQ(b.substr(0, 50), std::string(50, 'x'));
}

TEST(FaultActions, TheFirstRuleGetsThePacketAndAllCount) {
  Asked asked("duplicate nth=2; drop nth=2-3");
  EXPECT_EQ(asked.ask(kOut, to_peer(), datagram({})).action, FaultAction::kPass);
  EXPECT_EQ(asked.ask(kOut, to_peer(), datagram({})).action, FaultAction::kDuplicate);
  EXPECT_EQ(asked.ask(kOut, to_peer(), datagram({})).action, FaultAction::kDrop);
  EXPECT_EQ(asked.injector().counters(0).applied, 1U);
  EXPECT_EQ(asked.injector().counters(1).matched, 3U);
  EXPECT_EQ(asked.injector().counters(1).applied, 1U);
}

TEST(FaultActions, DelayAndItsJitter) {
  Asked asked("delay by=2ms jitter=1ms");
  fabric::Time least = fabric::kNever;
  fabric::Time most = 0;
  for (int i = 0; i < 1000; ++i) {
    const FaultVerdict v = asked.ask(kOut, to_peer(), datagram({}));
    ASSERT_EQ(v.action, FaultAction::kDelay);
    least = std::min(least, v.until);
    most = std::max(most, v.until);
  }
  EXPECT_GE(least, 1000 + 2 * kMillisecond);
  EXPECT_LT(least, 1000 + 2 * kMillisecond + 20 * kMicrosecond);
  EXPECT_LE(most, 1000 + 3 * kMillisecond);
  EXPECT_GT(most, 1000 + 3 * kMillisecond - 20 * kMicrosecond);
}

TEST(FaultActions, CorruptDrawsFromWhatTheIcrcCovers) {
  Asked asked("corrupt");
  std::vector<int> bytes(16);
  std::vector<int> bits(8);
  for (int i = 0; i < 16'000; ++i) {
    const FaultVerdict v = asked.ask(kOut, to_peer(), Datagram(16));
    ASSERT_LT(v.byte, 16U);
    ++bytes[v.byte];
    ++bits[v.bit];
  }
  EXPECT_EQ(bytes[4], 0);
  bytes.erase(bytes.begin() + 4);
  EXPECT_THAT(bytes, ::testing::Each(::testing::Gt(800)));
  EXPECT_THAT(bits, ::testing::Each(::testing::Gt(1600)));
}

TEST(FaultActions, CorruptWhereItIsEmitted) {
  Asked asked("corrupt byte=20 bit=3");
  EXPECT_FALSE(asked.hit(kOut, to_peer(), Datagram(20)));
  const FaultVerdict v = asked.ask(kOut, to_peer(), Datagram(21));
  EXPECT_EQ(v.action, FaultAction::kCorrupt);
  EXPECT_EQ(v.byte, 20U);
  EXPECT_EQ(v.bit, 3U);
}

TEST(FaultActions, WhatIsNoPacketPasses) {
  Asked asked("drop conn=1-; drop; corrupt");
  for (std::size_t bytes = 0; bytes < 16; ++bytes) {
    EXPECT_FALSE(asked.hit(kIn, to_peer(), Datagram(bytes)));
  }
  EXPECT_TRUE(asked.hit(kIn, to_peer(), Datagram(16)));
}

TEST(FaultMemory, IsBounded) {
  Asked asked("drop attempt=2-", {.connections = 8});
  for (std::uint32_t qp = 2; qp < 5000; ++qp) {
    EXPECT_FALSE(asked.out({.psn = 1, .qp = qp}));
    EXPECT_FALSE(asked.hit(kOut, to_peer(), cm_datagram(req(qp, qp), qp)));
  }
  EXPECT_LE(asked.injector().connections(), 3U * 8);
  // The newest connection is known, the oldest no longer.
  EXPECT_TRUE(asked.hit(kOut, to_peer(), cm_datagram(req(4999, 4999), 4999)));
  EXPECT_FALSE(asked.out({.psn = 1, .qp = 2}));
}

TEST(FaultMemory, NoneIsTakenPerPacket) {
  const Datagram bytes = datagram({.payload = 1024});
  const Path path = to_peer();
  FaultGate gate(
      plan("drop attempt=2- rate=0.5; reorder msg=1- nth=3 by=2; delay by=1us rate=0.1;"
           "duplicate conn=1 rate=0.1"));
  std::uint64_t gone = 0;
  fabric::Time now = 0;
  const auto go = [&gone](FaultDirection, const Path&, wire::Bytes) { ++gone; };
  const auto round = [&] {
    for (std::uint32_t psn = 0; psn < 3000; ++psn) {
      Datagram copy = bytes;
      copy[10] = static_cast<std::uint8_t>(psn >> 8);
      copy[11] = static_cast<std::uint8_t>(psn);
      gate.expire(now, go);
      gate.offer(kOut, path, copy, now += 100, go);
    }
  };
  round();
  // One copy per packet is the test's own.
  EXPECT_EQ(wire::testing::allocations_in(round), 3000U);
  EXPECT_GT(gone, 3000U);
}

TEST(FaultMemory, NoRulesNoTracking) {
  FaultInjector injector(FaultPlan{});
  EXPECT_FALSE(injector.active());
  EXPECT_EQ(injector.ask(kOut, to_peer(), datagram({}), 0).action, FaultAction::kPass);
  EXPECT_EQ(injector.connections(), 0U);
}

// Passes packets to a gate and records the PSNs of those that continue.
class Gated {
 public:
  explicit Gated(std::string_view rules, std::size_t bytes = 1 << 20)
      : gate_(plan(rules), {}, bytes) {}

  void offer(std::uint32_t psn, fabric::Time now, std::uint32_t qp = 0x11) {
    Datagram bytes = datagram({.psn = psn, .qp = qp});
    gate_.offer(kOut, to_peer(), bytes, now, *this);
  }
  void operator()(FaultDirection, const Path& path, wire::Bytes bytes) {
    EXPECT_EQ(path, to_peer());
    const auto packet = wire::decode_roce(bytes, bytes.size());
    if (!gone_.empty()) gone_ += ' ';
    gone_ += packet ? std::to_string(packet->bth.psn) : "damaged";
  }
  std::string gone() { return std::exchange(gone_, ""); }
  FaultGate& gate() { return gate_; }
  void expire(fabric::Time now) { gate_.expire(now, *this); }
  void change(std::string_view rules) { gate_.change(plan(rules), *this); }

 private:
  FaultGate gate_;
  std::string gone_;
};

TEST(FaultGate, DropsAndDuplicates) {
  Gated gated("drop psn=2; duplicate psn=3");
  for (std::uint32_t psn = 1; psn < 5; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gone(), "1 3 3 4");
}

TEST(FaultGate, Corrupts) {
  Gated gated("corrupt psn=2 byte=11 bit=4");
  gated.offer(2, 0);
  EXPECT_EQ(gated.gone(), "18");
}

TEST(FaultGate, SaysWhatIsDoneBeforeItIs) {
  FaultGate gate(plan("drop psn=9; drop psn=2; duplicate psn=2-3; corrupt psn=4 count=1"));
  std::vector<std::string> did;
  for (std::uint32_t psn = 1; psn < 5; ++psn) {
    for (int twice = 0; twice < 2; ++twice) {
      Datagram bytes = datagram({.psn = psn});
      gate.offer(
          kOut, to_peer(), bytes, 0,
          [&](FaultDirection, const Path&, wire::Bytes) { did.push_back(std::to_string(psn)); },
          [&](const FaultVerdict& v) { did.emplace_back(gate.injector().text(v.rule)); });
    }
  }
  EXPECT_THAT(did, ::testing::ElementsAre("1", "1", "drop psn=2", "drop psn=2", "duplicate psn=2-3",
                                          "3", "3", "duplicate psn=2-3", "3", "3",
                                          "corrupt psn=4 count=1", "4", "4"));
}

TEST(FaultGate, HoldsBackUntilLaterOnesHaveGone) {
  Gated gated("reorder psn=2 by=2");
  for (std::uint32_t psn = 1; psn < 4; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gone(), "1 3");
  gated.offer(4, 0);
  EXPECT_EQ(gated.gone(), "4 2");
}

TEST(FaultGate, OnlyTheConnectionsOwnCountAndOnlyThoseThatGo) {
  Gated gated("reorder psn=2; drop psn=3");
  gated.offer(2, 0);
  gated.offer(5, 0, 0x12);
  gated.offer(3, 0);
  EXPECT_EQ(gated.gone(), "5");
  gated.offer(4, 0);
  EXPECT_EQ(gated.gone(), "4 2");
}

TEST(FaultGate, SeveralHeldGoInTheirOrder) {
  Gated gated("reorder psn=1 by=2; reorder psn=2 by=1; reorder psn=3 by=2");
  for (std::uint32_t psn = 1; psn < 6; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gone(), "4 2 5 1 3");
}

TEST(FaultGate, NothingIsHeldForever) {
  Gated gated("reorder by=5");
  gated.offer(1, 10);
  EXPECT_EQ(gated.gate().deadline(), 10 + kMaxHold);
  gated.expire(9 + kMaxHold);
  EXPECT_EQ(gated.gone(), "");
  gated.expire(10 + kMaxHold);
  EXPECT_EQ(gated.gone(), "1");
  EXPECT_EQ(gated.gate().deadline(), fabric::kNever);
}

TEST(FaultGate, DelaysUntilItsTime) {
  Gated gated("delay psn=1 by=5us; delay psn=2 by=3us");
  for (std::uint32_t psn = 1; psn < 4; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gone(), "3");
  EXPECT_EQ(gated.gate().deadline(), 3000);
  gated.expire(2999);
  EXPECT_EQ(gated.gone(), "");
  gated.expire(6000);
  EXPECT_EQ(gated.gone(), "2 1");
}

TEST(FaultGate, AnotherPlanTakesThePlaceOfTheFirst) {
  Gated gated("delay by=1s psn=1; reorder psn=2");
  gated.offer(1, 0);
  gated.offer(2, 0);
  EXPECT_EQ(gated.gone(), "");
  gated.change("drop count=2");
  EXPECT_EQ(gated.gone(), "1 2");
  EXPECT_EQ(gated.gate().deadline(), fabric::kNever);
  for (std::uint32_t psn = 1; psn < 5; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gone(), "3 4");
  gated.change("drop count=2");
  for (std::uint32_t psn = 1; psn < 5; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gone(), "3 4");
  gated.change("");
  EXPECT_FALSE(gated.gate().active());
  gated.offer(1, 0);
  EXPECT_EQ(gated.gone(), "1");
}

TEST(FaultGate, KeepsBackNoMoreThanItMay) {
  Gated gated("delay by=1us", 3 * DelayedPackets::kLeast);
  for (std::uint32_t psn = 1; psn < 6; ++psn) gated.offer(psn, 0);
  EXPECT_EQ(gated.gate().overflows(), 2U);
  gated.expire(1000);
  EXPECT_EQ(gated.gone(), "1 2 3");
  gated.offer(7, 1000);
  gated.expire(2000);
  EXPECT_EQ(gated.gone(), "7");
}

}  // namespace
}  // namespace rpcrdma::soft
