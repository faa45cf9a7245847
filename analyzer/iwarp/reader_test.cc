// iWARP connections from their segments: both set-ups, markers and CRCs, everything that TCP does
// to a stream, captures that begin late or have gaps, and bounds.
#include "early_segments.h"
#include "traffic_for_tests.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::iwarp {
namespace {

// A Call with a Read chunk and a Write chunk, and its Reply.
void exchange(Traffic& t, std::uint32_t n) {
  t.send(0, pattern(150 + n % 7, n));
  t.read_request(1, 0x500 + n, 0x1000, 5000, 0x77 + n, 0x20000);
  t.read_response(0, 0x500 + n, 0x1000, pattern(5000, n + 1));
  t.write(1, 0x99 + n, 0x30000, pattern(70001, n + 2));
  t.send(1, pattern(3000, n + 3), 4, 0x99 + n);  // several DDP segments, with Invalidate
}
std::vector<Seen> expected(std::uint32_t n) {
  return {{'s', 0, pattern(150 + n % 7, n), 0, 0, true},
          {'r', 1, pattern(5000, n + 1), 0x77 + n, 0x20000, true},
          {'w', 1, pattern(70001, n + 2), 0x99 + n, 0x30000, true},
          {'s', 1, pattern(3000, n + 3), 0x99 + n, 0, true}};
}
std::vector<Seen> expected_of(std::uint32_t count) {
  std::vector<Seen> all;
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::vector<Seen> one = expected(n);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

struct Variant {
  int bits;
  [[nodiscard]] Options options() const {
    Options o;
    o.markers = {(bits & 1) != 0, (bits & 2) != 0};
    o.crc = {(bits & 4) != 0, (bits & 8) != 0};
    o.enhanced = (bits & 16) != 0;
    o.peer_to_peer = o.enhanced && (bits & 1) != 0;
    o.ipv6 = (bits & 32) != 0;
    return o;
  }
};
class Variants : public ::testing::TestWithParam<int> {
 protected:
  Options options = Variant{GetParam()}.options();
};

TEST_P(Variants, OfMpaShowTheSameOperations) {
  // Segments of one DDP segment, of an odd size, and as long as offload makes them.
  for (const std::size_t segment : {1460U, 97U, 65000U}) {
    options.segment = segment;
    Traffic t(options);
    t.connect();
    if (segment == 65000) t.hold();
    for (std::uint32_t n = 0; n < 3; ++n) exchange(t, n);
    if (segment == 65000) t.release();
    t.close();
    Reading r;
    r.feed(t);
    EXPECT_EQ(r.found.opened, 1);
    EXPECT_EQ(r.found.mpa, 2);
    EXPECT_EQ(r.found.closed, 1);
    std::vector<Seen> seen = r.found.seen;
    std::vector<Seen> wanted = expected_of(3);
    if (segment == 65000) {
      // Held back, each side's messages come at once.
      const auto by = [](const Seen& a, const Seen& b) {
        return std::tie(a.side, a.kind, a.bytes) < std::tie(b.side, b.kind, b.bytes);
      };
      std::erase_if(seen, [](const Seen& s) { return s.kind == 'r'; });
      std::erase_if(wanted, [](const Seen& s) { return s.kind == 'r'; });
      std::sort(seen.begin(), seen.end(), by);
      std::sort(wanted.begin(), wanted.end(), by);
    }
    EXPECT_EQ(seen, wanted) << segment;
    const roce::PacketStats stats = r.reader.stats();
    EXPECT_EQ(stats.crc_bad, 0U);
    const bool crc = options.crc[0] || options.crc[1];
    EXPECT_EQ(stats.crc_good != 0, crc);
    EXPECT_EQ(stats.crc_unchecked != 0, !crc);
    EXPECT_EQ(stats.iwarp, t.segments.size());
    EXPECT_EQ(stats.retransmitted + stats.lost_capture + stats.lost_network, 0U);
    EXPECT_EQ(r.found.last.transport, roce::Transport::kIwarp);
    EXPECT_EQ(r.found.last.setup, roce::Setup::kCm);
    EXPECT_EQ(r.found.last.state, roce::State::kClosed);
    EXPECT_EQ(r.found.last.closed_by, 0);
    EXPECT_EQ(r.found.last.mpa_revision, options.enhanced ? 2 : 1);
    EXPECT_EQ(r.found.last.side[0].qpn, 40000U);
    EXPECT_EQ(r.found.last.side[1].qpn, 20049U);
    const roce::CmSide& cm = r.found.last.side[0].cm;
    EXPECT_EQ(cm.depths_known, options.enhanced);
    EXPECT_EQ(cm.responder_resources, options.enhanced ? 16 : 0);
    EXPECT_EQ(cm.initiator_depth, options.enhanced ? 8 : 0);
    EXPECT_EQ(cm.private_data, (ByteVector{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}));
    EXPECT_EQ(r.reader.held_bytes(), 0U);
  }
}

TEST_P(Variants, WorkAcrossTheWrapOfSequenceNumbers) {
  options.isn = {0xffffff00U, 0xffff8000U};
  Traffic t(options);
  t.connect();
  for (std::uint32_t n = 0; n < 3; ++n) exchange(t, n);
  Reading r;
  r.feed(t);
  r.reader.finish();
  EXPECT_EQ(r.found.seen, expected_of(3));
}

TEST_P(Variants, AreReadFromTheMiddle) {
  const bool crc = options.crc[0] || options.crc[1];
  const bool markers = options.markers[0] || options.markers[1];
  if (!crc && markers) return;  // nothing proves where markers are
  options.peer_to_peer = false;
  Traffic t(options);
  t.connect();
  const std::size_t setup = t.segments.size();
  for (std::uint32_t n = 0; n < 4; ++n) exchange(t, n);
  Reading r;
  r.feed(std::vector<TestSegment>(t.segments.begin() + static_cast<std::ptrdiff_t>(setup),
                                  t.segments.end()),
         t.o);
  r.reader.finish();
  ASSERT_EQ(r.found.opened, 1);
  EXPECT_EQ(r.found.last.setup, roce::Setup::kInferred);
  std::vector<Seen> wanted = expected_of(4);
  for (const Seen& s : wanted) {
    if (s.kind == 'r') continue;  // a response may have come before its request was recognised
    EXPECT_THAT(r.found.seen, ::testing::Contains(s));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Variants, ::testing::Range(0, 64));

struct Session {
  Traffic t;
  Reading r;
  std::size_t setup = 0;
  explicit Session(Options o = {}) : t(o) {
    t.connect();
    setup = t.segments.size();
    for (std::uint32_t n = 0; n < 4; ++n) exchange(t, n);
    t.ack(0);
    t.ack(1);
  }
  // The n-th segment of side 1 with payload, after the set-up.
  std::size_t data(std::size_t n) {
    for (std::size_t i = setup; i < t.segments.size(); ++i) {
      if (t.segments[i].from == 1 && !t.segments[i].bytes.empty() && n-- == 0) return i;
    }
    return 0;
  }
  const roce::SideCounters& counters() { return r.found.last.side[1].counters; }
};

TEST(Tcp, PutsSegmentsInOrder) {
  Session s;
  const std::size_t i = s.data(10);
  std::swap(s.t.segments[i], s.t.segments[i + 1]);
  s.r.feed(s.t);
  s.r.reader.finish();
  EXPECT_EQ(s.r.found.seen, expected_of(4));
  EXPECT_EQ(s.counters().reordered, 1U);
  EXPECT_EQ(s.counters().lost_network + s.counters().retransmitted, 0U);
}

TEST(Tcp, KnowsThatTheNetworkLostASegmentThatCameAgain) {
  for (const bool ids : {true, false}) {
    Options o;
    o.ip_ids = ids;
    Session s(o);
    const std::size_t i = s.data(10);
    TestSegment lost = s.t.segments[i];
    if (ids) lost.ip_id += 1000;
    s.t.segments.erase(s.t.segments.begin() + static_cast<std::ptrdiff_t>(i));
    // The receiver acknowledges what it has, again and again.
    for (int n = 0; n < 3; ++n) {
      TestSegment ack = s.t.segments[s.setup - 1];
      ack.from = 0;
      ack.flags = Traffic::kAck;
      ack.bytes.clear();
      ack.wire_length = 0;
      ack.acknowledged = lost.sequence;
      s.t.segments.insert(s.t.segments.begin() + static_cast<std::ptrdiff_t>(i) + 2, ack);
    }
    s.t.segments.insert(s.t.segments.begin() + static_cast<std::ptrdiff_t>(i) + 6, lost);
    s.r.feed(s.t);
    s.r.reader.finish();
    EXPECT_EQ(s.r.found.seen, expected_of(4)) << ids;
    EXPECT_EQ(s.counters().lost_network, 1U);
    EXPECT_EQ(s.counters().retransmitted, 1U);
    EXPECT_EQ(s.counters().reordered + s.counters().lost_capture, 0U);
    EXPECT_EQ(s.r.found.retransmissions, 1U);
  }
}

TEST(Tcp, KnowsThatTheCaptureLostASegmentThatWasAcknowledged) {
  Session s;
  const std::size_t i = s.data(10);
  s.t.segments.erase(s.t.segments.begin() + static_cast<std::ptrdiff_t>(i));
  s.r.feed(s.t);
  s.r.reader.finish();
  EXPECT_EQ(s.counters().lost_capture, 1U);
  EXPECT_EQ(s.counters().lost_network + s.counters().retransmitted, 0U);
  // One Write is not whole; everything else is there.
  std::vector<Seen> wanted = expected_of(4);
  std::size_t missing = 0;
  for (const Seen& w : wanted)
    missing += std::count(s.r.found.seen.begin(), s.r.found.seen.end(), w) == 0;
  EXPECT_EQ(missing, 1U);
}

// Each data segment comes after the next segment of the other side, which acknowledges it.
TEST(Tcp, WaitsForWhatIsAcknowledgedBeforeItIsSeen) {
  Session s;
  std::size_t swapped = 0;
  for (std::size_t i = s.setup; i + 1 < s.t.segments.size(); ++i) {
    TestSegment& a = s.t.segments[i];
    TestSegment& b = s.t.segments[i + 1];
    if (a.from == b.from || a.bytes.empty()) continue;
    b.acknowledged = a.sequence + static_cast<std::uint32_t>(a.wire_length);
    std::swap(a, b);
    ++swapped;
    ++i;
  }
  ASSERT_GT(swapped, 4U);
  s.r.feed(s.t);
  s.r.reader.finish();
  EXPECT_EQ(s.r.found.seen, expected_of(4));
  EXPECT_EQ(s.r.found.last.side[0].counters.lost_capture + s.counters().lost_capture, 0U);
}

// The capture lost what many segments acknowledge: they wait neither long nor in any number.
TEST(Tcp, DoesNotWaitForLong) {
  for (const std::int64_t step_ns : {std::int64_t{0}, EarlySegments::kWait + 1}) {
    Session s;
    s.r.step_ns = step_ns;
    const std::size_t i = s.data(10);
    const std::uint32_t lost = s.t.segments[i].sequence + 1;
    s.t.segments.erase(s.t.segments.begin() + static_cast<std::ptrdiff_t>(i), s.t.segments.end());
    TestSegment ack = s.t.segments[s.setup - 1];
    ack.from = 0;
    ack.flags = Traffic::kAck;
    ack.bytes.clear();
    ack.wire_length = 0;
    ack.acknowledged = lost;
    for (std::size_t n = 0; n < 1000; ++n) s.t.segments.push_back(ack);
    s.r.feed(s.t);
    EXPECT_LT(s.r.reader.held_bytes(), EarlySegments::kMost * 1024);
  }
}

TEST(Tcp, CountsRetransmissionsAndTakesTheFirstBytes) {
  Session s;
  const std::size_t i = s.data(10);
  TestSegment again = s.t.segments[i];
  again.ip_id += 500;
  for (std::uint8_t& b : again.bytes) b ^= 0xff;
  // Also one that overlaps what is not there yet.
  TestSegment overlap = s.t.segments[i + 1];
  const TestSegment& before = s.t.segments[i];
  overlap.sequence = before.sequence;
  overlap.bytes = before.bytes;
  put(overlap.bytes, s.t.segments[i + 1].bytes);
  overlap.wire_length = overlap.bytes.size();
  s.t.segments[i + 1] = overlap;
  s.t.segments.insert(s.t.segments.begin() + static_cast<std::ptrdiff_t>(i) + 1, again);
  s.r.feed(s.t);
  s.r.reader.finish();
  EXPECT_EQ(s.r.found.seen, expected_of(4));
  EXPECT_EQ(s.counters().retransmitted, 2U);
}

TEST(Tcp, KnowsCopiesOfTheSamePacket) {
  Session s;
  std::vector<TestSegment> twice;
  for (const TestSegment& x : s.t.segments) {
    twice.push_back(x);
    twice.push_back(x);
  }
  s.r.feed(twice, s.t.o);
  s.r.reader.finish();
  EXPECT_EQ(s.r.found.seen, expected_of(4));
  EXPECT_EQ(s.counters().retransmitted, 0U);
  EXPECT_GT(s.counters().captured_twice, 100U);
}

// Every message that is whole is one that was sent, whatever happens to the segments.
TEST(Tcp, InventsNothing) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    Session s(Variant{static_cast<int>(random() % 64)}.options());
    s.t.reset(0);
    std::vector<TestSegment> list;
    for (const TestSegment& x : s.t.segments) {
      const auto chance = random() % 100;
      if (chance < 3) continue;
      TestSegment y = x;
      if (chance < 6) y.bytes.resize(y.bytes.size() / 2);  // truncated by the capture
      list.push_back(y);
      if (chance > 97) list.push_back(x);
      if (chance == 50 && list.size() > 2) std::swap(list[list.size() - 1], list[list.size() - 2]);
    }
    s.r.feed(list, s.t.o);
    s.r.reader.finish();
    const std::vector<Seen> wanted = expected_of(4);
    const bool crc = s.t.o.crc[0] || s.t.o.crc[1];
    for (const Seen& x : s.r.found.seen) {
      // Without CRCs, a place that was searched may be wrong.
      if (!x.complete || !crc) continue;
      if (x.kind == 's') {
        EXPECT_THAT(wanted, ::testing::Contains(x)) << round;
      }
    }
    EXPECT_EQ(s.r.reader.held_bytes(), 0U);
  }
}

TEST(Snapshots, ShowWhatWasCaptured) {
  Options o;
  o.ddp_segment = 1440;
  Session s(o);
  for (TestSegment& x : s.t.segments) x.bytes.resize(std::min<std::size_t>(x.bytes.size(), 60));
  s.r.feed(s.t);
  s.r.reader.finish();
  ASSERT_EQ(s.r.found.seen.size(), 16U);
  const std::vector<Seen> wanted = expected_of(4);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(s.r.found.seen[i].kind, wanted[i].kind);
    EXPECT_EQ(s.r.found.seen[i].handle, wanted[i].handle);
    EXPECT_FALSE(s.r.found.seen[i].complete);
  }
  EXPECT_EQ(s.counters().lost_capture, 0U);
}

TEST(Connections, EndByTerminate) {
  Traffic t;
  t.connect();
  exchange(t, 0);
  t.terminate(0, 0x01, 2);
  t.reset(0);
  Reading r;
  r.feed(t);
  EXPECT_EQ(r.found.closed, 1);
  EXPECT_EQ(r.found.last.failure, "RDMAP, remote protection error: access rights violation");
  EXPECT_EQ(r.found.last.closed_by, 0);
}

TEST(Connections, AreRefusedByAReply) {
  Traffic t;
  t.connect(true);
  t.close();
  Reading r;
  r.feed(t);
  EXPECT_EQ(r.found.opened, 0);
  EXPECT_EQ(r.found.closed, 1);
  EXPECT_EQ(r.found.last.state, roce::State::kRejected);
  EXPECT_EQ(r.found.last.closed_by, 1);
}

TEST(Connections, MayReuseTheirPorts) {
  Reading r;
  for (std::uint32_t n = 0; n < 3; ++n) {
    Options o;
    o.isn = {1000 + n * 777777, 5000 + n * 999999};
    Traffic t(o);
    t.connect();
    exchange(t, 0);
    if (n == 1) t.close();
    r.feed(t);
  }
  r.reader.finish();
  EXPECT_EQ(r.found.opened, 3);
  EXPECT_EQ(r.found.closed, 3);
  EXPECT_EQ(r.found.seen.size(), 12U);
}

// The refusal waits for what it acknowledges; the ports are reused before that comes.
TEST(Connections, AreClosedOnceByWhatTheyStillHold) {
  Traffic t;
  t.connect(true);
  for (TestSegment& s : t.segments) {
    if (s.from == 1 && !s.bytes.empty()) s.acknowledged += 100;
  }
  Reading r;
  r.feed(t);
  EXPECT_EQ(r.found.closed, 0);
  Options again;
  again.isn = {777777, 999999};
  Traffic next(again);
  next.handshake();
  r.feed(next);
  EXPECT_EQ(r.found.closed, 1);
  EXPECT_EQ(r.found.last.state, roce::State::kRejected);
  r.reader.finish();
  EXPECT_EQ(r.found.closed, 1);
}

TEST(Crc, OfADamagedFpduMakesItSuspect) {
  Traffic t;
  t.connect();
  t.send(0, pattern(100, 1));
  t.damage_next();
  t.send(0, pattern(100, 2));
  t.send(0, pattern(100, 3));
  Reading r;
  r.feed(t);
  r.reader.finish();
  ASSERT_EQ(r.found.seen.size(), 3U);
  EXPECT_FALSE(r.found.seen[0].suspect);
  EXPECT_TRUE(r.found.seen[1].suspect);
  EXPECT_FALSE(r.found.seen[2].suspect);
  EXPECT_EQ(r.reader.stats().crc_bad, 1U);
  EXPECT_EQ(r.reader.stats().crc_good, 2U);
}

// Atomics and Immediate Data (RFC 7306) are no part of RPC-over-RDMA.
TEST(Messages, ThatRpcDoesNotUseArePassedOver) {
  Traffic t;
  t.connect();
  t.untagged(0, 8, 0, 0, 1, pattern(8, 1));
  t.untagged(0, 10, 0, 1, 1, pattern(52, 1));
  t.untagged(1, 11, 0, 3, 1, pattern(12, 1));
  t.send(0, pattern(100, 2));
  Reading r;
  r.feed(t);
  ASSERT_EQ(r.found.seen.size(), 1U);
  EXPECT_EQ(r.reader.stats().other_service, 3U);
}

// Other protocols over TCP are forgotten with their first bytes.
TEST(OtherStreams, AreNotHeld) {
  Reading r;
  Traffic t;
  t.handshake();
  for (int i = 0; i < 100; ++i) t.raw(0, pattern(1460, static_cast<std::uint32_t>(i)));
  for (const TestSegment& s : t.segments) EXPECT_FALSE(r.feed(s, t.o));
  EXPECT_EQ(r.reader.held_bytes(), 0U);
  EXPECT_EQ(r.found.opened, 0);
}

TEST(OtherStreams, FromTheMiddleAreSearchedForALimitedTime) {
  Reading r;
  Traffic t;
  for (int i = 0; i < 3000; ++i) t.raw(0, pattern(1460, static_cast<std::uint32_t>(i)));
  for (const TestSegment& s : t.segments) {
    EXPECT_FALSE(r.feed(s, t.o));
    EXPECT_LE(r.reader.held_bytes(), 300'000U);
  }
  EXPECT_EQ(r.reader.held_bytes(), 0U);
  EXPECT_EQ(r.found.opened, 0);
}

TEST(Bounds, OneGiantGap) {
  Options o;
  o.ip_ids = false;
  Traffic t(o);
  t.connect();
  exchange(t, 0);
  t.hold();
  t.write(1, 5, 0, pattern(12U << 20, 7));
  t.release();
  t.send(1, pattern(100, 9));
  Reading r;
  // The first segment behind the exchange is missing, and nothing acknowledges it.
  std::size_t largest = 0;
  bool dropped = false;
  for (const TestSegment& s : t.segments) {
    if (!dropped && s.from == 1 && s.bytes.size() == 1460 && s.bytes[2] == 0x81 &&
        s.bytes[7] == 5) {
      dropped = true;
      continue;
    }
    (void)r.feed(s, t.o);
    largest = std::max(largest, r.reader.held_bytes());
  }
  ASSERT_TRUE(dropped);
  EXPECT_LE(largest, 12U << 20);
  r.reader.finish();
  EXPECT_EQ(r.found.last.side[1].counters.lost_capture, 1U);
  EXPECT_EQ(r.found.seen.back(), (Seen{'s', 1, pattern(100, 9), 0, 0, true}));
}

TEST(Bounds, ManyConnections) {
  Reading r;
  for (std::uint32_t n = 0; n < 12000; ++n) {
    Options o;
    o.client_port = static_cast<std::uint16_t>(1024 + n);
    Traffic t(o);
    t.connect();
    t.send(0, pattern(100, n));
    r.feed(t);
  }
  EXPECT_EQ(r.found.opened, 12000);
  EXPECT_EQ(static_cast<std::size_t>(r.found.evicted), 12000 - roce::kMaxConnections);
  r.reader.finish();
  EXPECT_EQ(r.found.closed, 12000);
}

TEST(Bounds, ManyHandshakes) {
  Reading r;
  for (std::uint32_t n = 0; n < 60000; ++n) {
    Options o;
    o.client_port = static_cast<std::uint16_t>(1024 + n);
    Traffic t(o);
    t.handshake();
    r.feed(t);
  }
  EXPECT_EQ(r.found.opened, 0);
  EXPECT_EQ(r.reader.held_bytes(), 0U);
}

}  // namespace
}  // namespace rpcrdma::iwarp
