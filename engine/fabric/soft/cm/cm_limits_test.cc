// The CM's state is bounded, whoever sends requests; and 65,536 connections cost no more each than
// one.
#include "cm_for_tests.h"

#include <vector>

namespace rpcrdma::soft {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using enum CmEventType;

HandMadeReq req_number(std::uint32_t number) {
  HandMadeReq req;
  req.m.local_comm_id = number;
  req.m.local_qpn = 2 + number;
  return req;
}

class CmLimitsTest : public testing::Test {
 protected:
  static CmLimits limits() {
    CmLimits limits;
    limits.connections = 16;
    limits.half_open = 8;
    return limits;
  }
  CmLimitsTest() { cm.listen(kPort); }

  void give(const Bytes& mad, const Path& path = kFromB) { cm.receive(path, mad, now); }

  // Sends a REQ from 10.77.1.`peer` and returns the resulting events.
  std::vector<CmEvent> ask_from(std::uint8_t peer, std::uint32_t number) {
    HandMadeReq req = req_number(number);
    const auto address = fabric::make_ipv4(10, 77, 1, peer);
    req.come_from(address);
    give(req.bytes(), {kAddressB, address});
    return events_of(cm);
  }

  void expect_no_resources() {
    const auto sent = sent_by(cm);
    ASSERT_THAT(names(sent), ElementsAre("REJ"));
    EXPECT_EQ(sent[0].as<wire::CmRej>().reason, 3);
  }

  ConnectionManager cm{limits(), 1};
  fabric::Time now = 0;
};

TEST_F(CmLimitsTest, OnePeerTakesHalfOfThePlacesForRequests) {
  std::vector<CmId> ids;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto events = ask_from(1, i);
    ASSERT_THAT(types(events), ElementsAre(kRequest));
    ids.push_back(events[0].id);
  }
  // No answer: an honest peer asks again.
  EXPECT_THAT(ask_from(1, 4), IsEmpty());
  EXPECT_THAT(names(sent_by(cm)), IsEmpty());
  ASSERT_NE(cm.refusal(), nullptr);
  EXPECT_EQ(cm.refusal()->reason, 3);
  EXPECT_STREQ(cm.refusal()->why, "too many half-open connections");
  // The next peer gets half of the rest, and so on; together they get no more than the limit.
  EXPECT_THAT(ask_from(2, 0), SizeIs(1));
  EXPECT_THAT(ask_from(2, 1), SizeIs(1));
  EXPECT_THAT(ask_from(2, 2), IsEmpty());
  EXPECT_THAT(ask_from(3, 0), SizeIs(1));
  EXPECT_THAT(ask_from(4, 0), SizeIs(1));
  EXPECT_THAT(ask_from(5, 0), IsEmpty());
  EXPECT_EQ(cm.half_open(), 8U);
  EXPECT_EQ(cm.counters().crowded, 3U);
  // Rejecting makes room, and so does establishing; accepting alone does not.
  ASSERT_TRUE(cm.accept(ids[0], {0x31, 0, 1, 1, 7, true}, {}, now));
  EXPECT_THAT(ask_from(5, 1), IsEmpty());
  cm.data_came(ids[0], now);
  EXPECT_THAT(types(events_of(cm)), ElementsAre(kEstablished));
  EXPECT_THAT(ask_from(5, 1), SizeIs(1));
  ASSERT_TRUE(cm.reject(ids[1], 28, {}, now));
  EXPECT_THAT(ask_from(6, 0), SizeIs(1));
}

TEST_F(CmLimitsTest, RequestsThatEndMakeRoom) {
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_THAT(ask_from(1, i), SizeIs(1));
  now = cm.deadline();
  cm.expire(now);
  EXPECT_THAT(types(events_of(cm)), Each(kTimedOut));
  for (std::uint32_t i = 10; i < 14; ++i) EXPECT_THAT(ask_from(1, i), SizeIs(1));
}

TEST_F(CmLimitsTest, ConnectionsOfAllStates) {
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(cm.connect(connect_request(), now));
  const auto full = cm.connect(connect_request(), now);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, fabric::Errc::kNoRoom);
  static_cast<void>(sent_by(cm));
  EXPECT_THAT(ask_from(1, 0), IsEmpty());
  expect_no_resources();
  ASSERT_NE(cm.refusal(), nullptr);
  EXPECT_STREQ(cm.refusal()->why, "connection limit reached");
  EXPECT_EQ(cm.connections(), 16U);
}

TEST_F(CmLimitsTest, TimeWaitMakesRoomTheOldestFirst) {
  std::vector<CmId> ids;
  for (int i = 0; i < 16; ++i) ids.push_back(cm.connect(connect_request(), now).value());
  cm.disconnect(ids[5], now);
  cm.disconnect(ids[3], now);
  static_cast<void>(sent_by(cm));
  ASSERT_TRUE(cm.connect(connect_request(), now));
  EXPECT_EQ(cm.connections(), 16U);
  static_cast<void>(sent_by(cm));
  // A late REP for either: the older one is no longer known.
  const auto reason = [&](CmId id) {
    wire::CmRep rep;
    rep.local_comm_id = 0x55;
    rep.remote_comm_id = id;
    rep.local_qpn = 0x66;
    give(mad_bytes(rep), kFromA);
    return sent_by(cm).at(0).as<wire::CmRej>().reason;
  };
  EXPECT_EQ(reason(ids[5]), 6);
  EXPECT_EQ(reason(ids[3]), 28);
}

// The owner rejects, but the flood continues.
TEST_F(CmLimitsTest, FloodThatIsRejectedKeepsNobodyOut) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const auto events = ask_from(1, i);
    ASSERT_THAT(events, SizeIs(1));
    ASSERT_TRUE(cm.reject(events[0].id, 28, {}, now));
  }
  EXPECT_LE(cm.connections(), 16U);
  EXPECT_TRUE(cm.connect(connect_request(), now));
  EXPECT_LE(sent_by(cm).size(), 16U);
}

TEST_F(CmLimitsTest, AnswersThatNobodyTakesAreDropped) {
  std::size_t refused = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    HandMadeReq req = req_number(i);
    req.m.service_id += 1;
    give(req.bytes());
    if (cm.refusal() != nullptr) ++refused;
  }
  EXPECT_EQ(refused, 1024U);  // the others get no answer
  EXPECT_EQ(sent_by(cm).size(), 1024U);
  EXPECT_EQ(cm.counters().dropped, 10'000U - 1024U);
}

// An owner that polls no events: requests come and end, but the number of events stays bounded.
TEST_F(CmLimitsTest, EventsThatNobodyTakes) {
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    give(req_number(i).bytes());
    if (cm.deadline() != fabric::kNever) cm.expire(now = cm.deadline());
  }
  EXPECT_LE(events_of(cm).size(), 4 * limits().connections);
}

TEST_F(CmLimitsTest, DuplicatesDoNotAddUp) {
  ASSERT_THAT(ask_from(1, 0), SizeIs(1));
  HandMadeReq req = req_number(0);
  const auto address = fabric::make_ipv4(10, 77, 1, 1);
  req.come_from(address);
  for (int i = 0; i < 1000; ++i) give(req.bytes(), {kAddressB, address});
  EXPECT_THAT(names(sent_by(cm)), ElementsAre("MRA"));
  EXPECT_EQ(cm.connections(), 1U);
}

TEST_F(CmLimitsTest, NoTimeOutIsTooShortOrTooLong) {
  for (const fabric::Time timeout : {fabric::Time{0}, fabric::Time{-5}, fabric::kNever}) {
    CmLimits odd;
    odd.response_timeout = timeout;
    ConnectionManager other(odd, 1);
    ASSERT_TRUE(other.connect(connect_request(), 0));
    fabric::Time last = 0;
    while (other.deadline() != fabric::kNever) {
      ASSERT_GT(other.deadline(), last);
      last = other.deadline();
      other.expire(last);
    }
    EXPECT_THAT(types(events_of(other)), ElementsAre(kTimedOut));
  }
}

// All at once from one CM to another: each message is sent once, no connection is examined
// needlessly, and none of the many time-outs expires. (CmTimersOrderTest measures the cost of a
// deadline.)
TEST(CmScaleTest, ManyConnections) {
  constexpr std::uint32_t kMany = 65'536;
  constexpr std::uint32_t kBatch = 256;
  CmLimits limits;
  ConnectionManager a(limits, 1), b(limits, 2);
  b.listen(kPort);
  fabric::Time now = 0;
  const auto carry = [&](ConnectionManager& from, ConnectionManager& to, const Path& path) {
    const Path* sent_on = nullptr;
    wire::Bytes mad;
    Bytes copy;
    while (from.transmit(sent_on, mad)) {
      copy.assign(mad.begin(), mad.end());
      to.receive(path, copy, now);
    }
  };
  std::vector<CmId> ids;
  CmEvent event;
  std::uint32_t established = 0;
  for (std::uint32_t i = 0; i < kMany; i += kBatch) {
    for (std::uint32_t j = 0; j < kBatch; ++j) {
      CmConnect request = connect_request();
      request.local.qpn = 2 + i + j;
      const auto id = a.connect(request, now);
      ASSERT_TRUE(id.has_value());
      ids.push_back(*id);
    }
    carry(a, b, kFromB);
    for (std::uint32_t qpn = 2 + i; b.next_event(event); ++qpn) {
      ASSERT_EQ(event.type, kRequest);
      ASSERT_EQ(event.peer.qpn, qpn);
      ASSERT_TRUE(b.accept(event.id, {qpn, 0, 1, 1, 7, true}, {}, now));
    }
    carry(b, a, kFromA);
    while (a.next_event(event)) {
      ASSERT_EQ(event.type, kReply);
      a.establish(event.id, now);
    }
    carry(a, b, kFromB);
    while (b.next_event(event)) established += event.type == kEstablished;
    now += fabric::kMicrosecond;
  }
  EXPECT_EQ(established, kMany);
  EXPECT_EQ(a.deadline(), fabric::kNever);
  EXPECT_EQ(b.deadline(), fabric::kNever);
  EXPECT_EQ(a.counters().sent, 2 * kMany);
  EXPECT_EQ(b.counters().sent, kMany);
  EXPECT_FALSE(a.connect(connect_request(), now));

  // All deadlines differ, and each connection meets its own.
  std::uint32_t disconnected = 0;
  for (const CmId id : ids) {
    a.disconnect(id, now);
    now += 100;
  }
  static_cast<void>(sent_by(a));
  const fabric::Time first = a.deadline();
  for (std::uint32_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(a.deadline(), first + 100 * fabric::Time{i});
    now = std::max(now, a.deadline());
    a.expire(a.deadline());
    ASSERT_EQ(a.counters().retried, i + 1U);
    carry(a, b, kFromB);
    carry(b, a, kFromA);
    while (a.next_event(event)) disconnected += event.type == kDisconnect;
    while (b.next_event(event)) disconnected += event.type == kDisconnect;
  }
  EXPECT_EQ(disconnected, 2 * kMany);
  EXPECT_EQ(b.counters().duplicates, 0U);
  a.expire(now + 100 * fabric::kSecond);
  b.expire(now + 100 * fabric::kSecond);
  EXPECT_EQ(a.connections() + b.connections(), 0U);
}

}  // namespace
}  // namespace rpcrdma::soft
