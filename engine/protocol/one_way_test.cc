// Calls without a Reply: how their credits come back, and that they neither time out nor end the
// connection.
#include "support/channel_ends.h"

#include <algorithm>
#include <utility>

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>

namespace rpcrdma::protocol {
namespace {

using testing::Buffer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kOneWay = 1000;  // cookies from here on

class OneWayTest : public testing::ChannelTest, public RequesterOwner {
 protected:
  ~OneWayTest() override { channel.reset(); }

  void make(std::uint32_t credits) {
    channel.reset();
    requester.emplace(*this, RequesterOptions{.credits = credits, .max_calls = 8});
    start(&*requester, nullptr, {});
  }
  void on_outcome(const CallOutcome& o) override {
    outcomes.emplace_back(o.cookie, o.status);
    reasons.emplace_back(o.reason);
  }
  void one_way(std::uint64_t cookie, fabric::Time timeout = fabric::kNever) {
    const std::array<Piece, 1> message{Piece{header, nullptr, false}};
    CallSpec spec;
    spec.message = message;
    spec.cookie = cookie;
    spec.timeout = timeout;
    spec.one_way = true;
    ASSERT_TRUE(requester->call(spec, now));
    channel->flush(now);
  }
  std::uint32_t two_way(std::uint64_t cookie) {
    const std::array<Piece, 1> message{Piece{header, nullptr, false}};
    CallSpec spec;
    spec.message = message;
    spec.cookie = cookie;
    spec.max_reply = 100;
    const std::uint32_t xid = requester->call(spec, now).value();
    channel->flush(now);
    return xid;
  }
  void reply(std::uint32_t xid, std::uint32_t credits) {
    wire::Header h;
    h.xid = xid;
    h.credit = credits;
    arrive(testing::encode(h, testing::words({xid, 1, 0, 0, 0, 0})));
  }
  // The procedures of the Sends posted since the last time, whose completions then arrive.
  std::vector<std::uint32_t> procedures() {
    std::vector<std::uint32_t> all;
    for (const auto& p : complete_posted()) {
      const Buffer payload = testing::payload_of(p.bytes);
      EXPECT_GE(payload.size(), 24U);
      if (payload.size() < 24) continue;
      last_xid = wire::load_be32(payload.data());
      all.push_back(wire::load_be32(payload.data() + 20));
    }
    return all;
  }
  // A connection whose peer has granted this much.
  void granted(std::uint32_t credits) {
    make(8);
    reply(two_way(0), credits);
    procedures();
    outcomes.clear();
    reasons.clear();
  }

  std::optional<Requester> requester;
  std::vector<std::pair<std::uint64_t, CallStatus>> outcomes;
  std::vector<std::string> reasons;
  std::uint32_t last_xid = 0;
  Buffer header = testing::words({0, 0, 2, 0x20000001, 1, 5, 0, 0, 0, 0});
};

TEST_F(OneWayTest, ItEndsWhenThePeersFabricHasIt) {
  granted(8);
  one_way(kOneWay, 5);
  EXPECT_THAT(outcomes, IsEmpty());
  now += 100;  // it is in flight, and not late
  channel->expire(now);
  EXPECT_EQ(requester->counters().timeouts, 0U);
  EXPECT_THAT(procedures(), ElementsAre(5));
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kSent)));
  EXPECT_EQ(requester->outstanding(), 0U);
  EXPECT_EQ(requester->counters().one_way, 1U);
  now += fabric::kSecond * 1000;
  EXPECT_EQ(channel->deadline(), fabric::kNever);
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(requester->counters().timeouts, 0U);
}

TEST_F(OneWayTest, ItKeepsItsCreditUntilAReplyToALaterCall) {
  granted(8);
  const std::uint32_t before = two_way(1);
  one_way(kOneWay);
  one_way(kOneWay + 1);
  const std::uint32_t after = two_way(2);
  EXPECT_THAT(procedures(), ElementsAre(5, 5, 5, 5));
  EXPECT_EQ(requester->credits_in_use(), 4U);
  reply(before, 8);  // the peer may have answered it before it received the others
  EXPECT_EQ(requester->credits_in_use(), 3U);
  reply(after, 8);
  EXPECT_EQ(requester->credits_in_use(), 0U);
}

TEST_F(OneWayTest, AnErrorAcknowledgesAsWell) {
  granted(8);
  one_way(kOneWay);
  const std::uint32_t after = two_way(2);
  procedures();
  wire::Header h;
  h.xid = after;
  h.proc = wire::Proc::kError;
  h.error = wire::RdmaErr::kChunk;
  arrive(testing::encode(h));
  EXPECT_EQ(requester->credits_in_use(), 0U);
}

TEST_F(OneWayTest, WithoutALaterCallTheRequesterMakesOne) {
  granted(4);
  for (std::uint64_t i = 0; i < 5; ++i) one_way(kOneWay + i);
  // One credit is left for a Call of procedure 0.
  EXPECT_THAT(procedures(), ElementsAre(5, 5, 5, 0));
  EXPECT_EQ(requester->counters().null_calls, 1U);
  EXPECT_EQ(outcomes.size(), 3U);
  reply(last_xid, 4);
  EXPECT_THAT(procedures(), ElementsAre(5, 5));
  EXPECT_EQ(outcomes.size(), 5U);  // and none of procedure 0
  EXPECT_THAT(outcomes, ::testing::Each(::testing::Field(&decltype(outcomes)::value_type::second,
                                                         CallStatus::kSent)));
}

TEST_F(OneWayTest, CallsWithAReplyNeedNoOther) {
  granted(2);
  const std::uint32_t first = two_way(1);
  one_way(kOneWay);
  EXPECT_THAT(procedures(), ElementsAre(5));  // waits for the Reply
  reply(first, 2);
  EXPECT_THAT(procedures(), ElementsAre(5));
  EXPECT_EQ(requester->counters().null_calls, 0U);
}

TEST_F(OneWayTest, TheFirstCallOfAConnectionHasAReply) {
  make(8);
  one_way(kOneWay);
  EXPECT_THAT(procedures(), ElementsAre(0));
  reply(last_xid, 8);
  EXPECT_THAT(procedures(), ElementsAre(5));
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kSent)));
}

TEST_F(OneWayTest, OneCreditIsTooLittle) {
  make(8);
  one_way(kOneWay);
  procedures();
  reply(last_xid, 1);
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kCannotSend)));
  EXPECT_THAT(reasons[0], HasSubstr("two credits"));
  EXPECT_THAT(procedures(), IsEmpty());
}

TEST_F(OneWayTest, APeerThatRefusesProcedureZeroIsNotAskedForEver) {
  make(8);
  one_way(kOneWay);
  procedures();
  wire::Header h;
  h.xid = last_xid;
  h.proc = wire::Proc::kError;
  h.error = wire::RdmaErr::kChunk;
  arrive(testing::encode(h));
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kCannotSend)));
  EXPECT_THAT(procedures(), IsEmpty());
}

TEST_F(OneWayTest, ALowerGrantLeavesOneCallToGetCreditsBack) {
  granted(8);
  const std::uint32_t first = two_way(1);
  for (std::uint64_t i = 0; i < 5; ++i) one_way(kOneWay + i);
  procedures();
  reply(first, 2);
  EXPECT_EQ(requester->credits_in_use(), 5U);
  const std::uint32_t second = two_way(2);
  EXPECT_THAT(procedures(), ElementsAre(5));
  two_way(3);
  EXPECT_THAT(procedures(), IsEmpty());
  reply(second, 2);
  EXPECT_THAT(procedures(), ElementsAre(5));
  EXPECT_EQ(requester->credits_in_use(), 1U);
}

TEST_F(OneWayTest, NoChunks) {
  granted(8);
  header.resize(3000);
  one_way(kOneWay);
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kCannotSend)));
  EXPECT_THAT(reasons[0], HasSubstr("inline"));
  CallSpec spec;
  const std::array<Piece, 1> message{Piece{header, nullptr, false}};
  spec.message = message;
  spec.one_way = true;
  spec.max_reply = 4;
  EXPECT_FALSE(requester->call(spec, now));
}

TEST_F(OneWayTest, ItWaitsForACreditForALimitedTime) {
  granted(2);
  two_way(1);
  one_way(kOneWay, 50);
  procedures();
  now += 60;
  channel->expire(now);
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kTimedOut)));
  EXPECT_EQ(failure(), "");
}

TEST_F(OneWayTest, OneWhoseConnectionIsLostIsSentAgain) {
  granted(8);
  one_way(kOneWay);
  fabric.posted.clear();  // no completion
  channel->disconnected(now);
  EXPECT_THAT(outcomes, IsEmpty());
  start(&*requester, nullptr, {});
  EXPECT_THAT(procedures(), ElementsAre(0));
  reply(last_xid, 8);
  EXPECT_THAT(procedures(), ElementsAre(5));
  EXPECT_THAT(outcomes, ElementsAre(std::pair(kOneWay, CallStatus::kSent)));
  EXPECT_EQ(requester->counters().resent, 1U);
}

TEST_F(OneWayTest, AReplyAllTheSameDoesNoHarm) {
  granted(8);
  one_way(kOneWay);
  procedures();
  const std::uint32_t xid = last_xid;
  reply(xid, 8);
  EXPECT_EQ(requester->counters().unmatched, 1U);
  EXPECT_EQ(failure(), "");
  // Before the completion of its Send.
  one_way(kOneWay + 1);
  reply(wire::load_be32(testing::payload_of(sent()).data()), 8);
  EXPECT_EQ(outcomes.back(), std::pair(kOneWay + 1, CallStatus::kReplied));
  procedures();
  EXPECT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(requester->credits_in_use(), 0U);
}

// ----- the responder

class DroppedTest : public testing::ChannelTest, public ResponderOwner {
 protected:
  ~DroppedTest() override { channel.reset(); }

  void make(std::uint32_t credits) {
    responder.emplace(*this, ResponderOptions{.credits = credits});
    start(nullptr, &*responder, {});
  }
  void on_call(const IncomingCall& c) override {
    ids.push_back(c.id);
    if (drops) responder->drop(c.id, now);
  }
  void on_sent(std::uint64_t) override { ADD_FAILURE() << "nothing is sent"; }
  void on_cancelled(std::uint64_t id) override { cancelled.push_back(id); }
  void call(std::uint32_t xid) {
    wire::Header h;
    h.xid = xid;
    h.credit = 8;
    arrive(testing::encode(h, testing::words({xid, 0, 2, 3, 4})));
  }

  std::optional<Responder> responder;
  bool drops = true;
  std::vector<std::uint64_t> ids, cancelled;
};

TEST_F(DroppedTest, TheCreditIsFreeAtOnce) {
  make(1);
  for (std::uint32_t xid = 1; xid < 50; ++xid) call(xid);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(ids.size(), 49U);
  EXPECT_EQ(responder->outstanding(), 0U);
  EXPECT_EQ(responder->counters().dropped, 49U);
  EXPECT_EQ(responder->counters().replies, 0U);
  EXPECT_THAT(fabric.posted, IsEmpty());
}

TEST_F(DroppedTest, LaterAndOnlyOnce) {
  drops = false;
  make(8);
  call(1);
  ASSERT_EQ(ids.size(), 1U);
  responder->drop(ids[0], now);
  responder->drop(ids[0], now);
  EXPECT_EQ(responder->outstanding(), 0U);
  channel->flush(now);
  responder->drop(ids[0], now);
  EXPECT_EQ(responder->counters().dropped, 1U);
  const Buffer bytes = testing::words({0, 1, 0, 0});
  const std::array<Piece, 1> message{Piece{bytes, nullptr, false}};
  EXPECT_FALSE(responder->reply(ids[0], message, now));
  EXPECT_THAT(cancelled, IsEmpty());
}

TEST_F(DroppedTest, ItsConnectionEndsBeforeTheFlush) {
  drops = false;
  make(8);
  call(1);
  responder->drop(ids[0], now);
  channel->disconnected(now);
  EXPECT_THAT(cancelled, IsEmpty());
  EXPECT_EQ(responder->outstanding(), 0U);
}

}  // namespace
}  // namespace rpcrdma::protocol
