// Features of RFC 5666 that RFC 8166 removed and both roles still support: RDMA_MSGP, Replies with
// Read chunks and their RDMA_DONE, the roundup of Write chunks; between two endpoints, and against
// a scripted peer.
#include "exchange_for_tests.h"
#include "support/channel_ends.h"

#include <gmock/gmock.h>

namespace rpcrdma::protocol {
namespace {

using testing::Buffer;
using testing::CallPlanForTest;
using ::testing::ElementsAre;
using testing::encode;
using testing::Exchange;
using testing::ExchangeOptions;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::open;
using testing::OpenHeader;
using testing::payload_of;
using testing::words;

ExchangeOptions both_speak_it() {
  ExchangeOptions o;
  o.requester.rfc5666 = o.responder.rfc5666 = true;
  return o;
}

void all_answered_by_rfc5666(Exchange& e, const std::vector<CallPlanForTest>& plans) {
  ASSERT_NO_FATAL_FAILURE(e.connect());
  for (const CallPlanForTest& p : plans) e.call(p);
  ASSERT_TRUE(e.run_to_end());
  for (const auto& [cookie, outcome] : e.outcomes) {
    EXPECT_EQ(outcome.status, CallStatus::kReplied)
        << cookie << ": " << call_status_name(outcome.status) << " " << outcome.reason;
  }
  e.settle();
  EXPECT_THAT(e.failures, IsEmpty());
  EXPECT_EQ(e.requester.counters().bytes, e.responder.counters().bytes);
  EXPECT_EQ(e.requester.counters().read_replies, e.responder.counters().done);
  e.client.reset();
  e.server.reset();
  EXPECT_EQ(e.client_pool.in_use(), 0U);
  EXPECT_EQ(e.server_pool.in_use(), 0U);
}

TEST(Rfc5666, ResultsComeByReadChunksWhereNothingIsOffered) {
  ExchangeOptions o = both_speak_it();
  o.requester.offer_nothing = true;
  Exchange e(o);
  // Inline, one Read chunk, several of odd lengths, one of registered memory.
  all_answered_by_rfc5666(e, {{{{10}}, {{200}}},
                              {{{10}}, {{5000}}},
                              {{{10}}, {{5001}, {3}, {4002}}},
                              {{{5000}}, {{70'001, true, true}}}});
  EXPECT_EQ(e.requester.counters().write_chunks + e.requester.counters().reply_chunks, 0U);
  EXPECT_EQ(e.responder.counters().read_replies, 3U);
  EXPECT_EQ(e.responder.counters().bytes.reply_reads, 5000U + 5001 + 4002 + 70'001);
}

TEST(Rfc5666, AReplyCanBeAPositionZeroReadChunk) {
  ExchangeOptions o = both_speak_it();
  o.requester.offer_nothing = true;
  o.client.max_segment = o.server.max_segment = 1500;
  Exchange e(o);
  all_answered_by_rfc5666(
      e, {{{{10}}, {{5000, false}}}, {{{10}}, {{4000, false}, {3000}, {7, false}}}});
  EXPECT_EQ(e.responder.counters().read_replies, 2U);
  EXPECT_EQ(e.responder.counters().bytes.inline_replies, 0U);
}

TEST(Rfc5666, WhatIsOfferedIsUsed) {
  Exchange e(both_speak_it());
  all_answered_by_rfc5666(e, {{{{10}}, {{5000}}}, {{{10}}, {{5001, false}}}});
  EXPECT_EQ(e.responder.counters().read_replies, 0U);
  EXPECT_EQ(e.requester.counters().write_chunks, 1U);
  EXPECT_EQ(e.requester.counters().reply_chunks, 1U);
}

TEST(Rfc5666, PaddedCallsAreReadWithoutTheirPadding) {
  ExchangeOptions o = both_speak_it();
  o.client = o.server = testing::options_with(4096);
  o.client.terms.padding = {512, 300, 0};
  Exchange e(o);
  all_answered_by_rfc5666(e, {{{{299}}, {}},               // below the threshold
                              {{{300}}, {}},               // at it
                              {{{1001}, {5}, {900}}, {}},  // two of three
                              {{{100, false}, {600}}, {}},
                              {{{400, false}, {600}}, {}},  // the first could be mistaken for
                                                            // padded
                              {{{3800}}, {}},               // no room for padding
                              {{{700}, {9000}}, {}}});      // with a Read chunk
  EXPECT_EQ(e.requester.counters().padded_calls, 4U);
}

TEST(Rfc5666, PaddedRepliesAreReadWithoutTheirPadding) {
  ExchangeOptions o = both_speak_it();
  o.client = o.server = testing::options_with(4096);
  o.responder.padding = {512, 300, 0};
  Exchange e(o);
  all_answered_by_rfc5666(e, {{{{10}}, {{299}}},                // below the threshold
                              {{{10}}, {{300}}},                // at it
                              {{{10}}, {{1001}, {5}, {900}}},   // two of three
                              {{{10}}, {{400, false}, {600}}},  // the first could be mistaken
                              {{{10}}, {{9000}}}});             // in a Write chunk
  EXPECT_EQ(e.responder.counters().padded_replies, 2U);
}

// An upper layer that has one Call.
class Rfc5666Channel : public testing::ChannelTest, public ResponderOwner, public RequesterOwner {
 protected:
  Rfc5666Channel() : bytes(20'000) { memory = {bytes.data(), bytes.size(), 7}; }
  ~Rfc5666Channel() override { channel.reset(); }

  void serve(ResponderOptions options = {}, const ChannelOptions& channel_options = {}) {
    options.rfc5666 = true;
    channel.reset();
    responder.emplace(*this, options);
    start(nullptr, &*responder, channel_options);
  }
  void request(RequesterOptions options = {}, const ChannelOptions& channel_options = {}) {
    options.rfc5666 = options.offer_nothing = true;
    channel.reset();
    requester.emplace(*this, options);
    start(&*requester, nullptr, channel_options);
  }
  void on_call(const IncomingCall& call) override {
    ids.push_back(call.id);
    StreamReader r(call.stream, call.items, call.padding);
    r.opaque_fixed(8);
    const wire::Bytes content = r.opaque();
    contents.emplace_back(content.begin(), content.end());
  }
  void on_sent(std::uint64_t id) override { sent_ids.push_back(id); }
  void on_cancelled(std::uint64_t) override {}
  void on_outcome(const CallOutcome& o) override {
    statuses.push_back(o.status);
    reasons.emplace_back(o.reason);
    StreamReader r(o.reply, o.items, o.padding);
    r.opaque_fixed(8);
    const wire::Bytes content =
        o.status == CallStatus::kReplied ? r.opaque_result() : wire::Bytes();
    contents.emplace_back(content.begin(), content.end());
  }

  static Buffer call_message(std::uint32_t xid) {
    wire::Header h;
    h.xid = xid;
    h.credit = 8;
    return encode(h, words({xid, 0, 0}));
  }
  static Buffer done_message(std::uint32_t xid) {
    wire::Header h;
    h.xid = xid;
    h.credit = 8;
    h.proc = wire::Proc::kDone;
    return encode(h);
  }
  // A Reply with one DDP-eligible result.
  void reply(std::uint64_t id, std::uint32_t result) {
    const Buffer front = words({0, 1, result});
    const std::array<Piece, 2> message{Piece{front, nullptr, false},
                                       Piece{{bytes.data(), result}, &memory, true}};
    replied = responder->reply(id, message, now).has_value();
    channel->flush(now);
  }
  std::uint32_t call(std::uint32_t max_reply = 100) {
    const Piece piece{small, nullptr, false};
    CallSpec spec;
    spec.message = {&piece, 1};
    spec.max_reply = max_reply;
    const std::uint32_t xid = requester->call(spec, now).value();
    channel->flush(now);
    return xid;
  }
  static OpenHeader reply_with(std::uint32_t xid, std::vector<wire::ReadSegment> reads) {
    OpenHeader o;
    o.header.xid = xid;
    o.header.credit = 4;
    o.reads = std::move(reads);
    return o;
  }

  std::optional<Responder> responder;
  std::optional<Requester> requester;
  std::vector<std::uint64_t> ids, sent_ids;
  std::vector<CallStatus> statuses;
  std::vector<std::string> reasons;
  std::vector<Buffer> contents;
  bool replied = false;
  Buffer small = words({0xdead, 0, 2});
  Buffer bytes;
  fabric::Memory memory;
};

TEST_F(Rfc5666Channel, AReplyIsItsOwnersAgainWhenItsDoneHasComeAndItIsFenced) {
  serve({.credits = 4});
  arrive(call_message(7));
  reply(ids.at(0), 5000);
  const OpenHeader h = open(sent());
  ASSERT_EQ(h.reads.size(), 1U);
  EXPECT_EQ(h.reads[0].position, 12U);
  EXPECT_EQ(h.reads[0].target.length, 5000U);
  EXPECT_EQ(h.header.credit, 3U);  // its RDMA_DONE uses the fourth
  complete_posted();
  EXPECT_THAT(sent_ids, IsEmpty());
  arrive(done_message(7));
  ASSERT_EQ(fabric.invalidated.size(), 1U);
  EXPECT_EQ(fabric.invalidated[0].handle, h.reads[0].target.handle);
  EXPECT_THAT(sent_ids, IsEmpty());
  complete_invalidations();
  EXPECT_THAT(sent_ids, ElementsAre(ids[0]));
  EXPECT_EQ(responder->counters().done, 1U);
  // Another Call has all credits again.
  arrive(call_message(8));
  reply(ids.at(1), 10);
  EXPECT_EQ(open(sent()).header.credit, 4U);
  complete_posted();
}

TEST_F(Rfc5666Channel, ADoneBeforeTheSendIsKnownToHaveArrived) {
  serve();
  arrive(call_message(7));
  reply(ids.at(0), 5000);
  arrive(done_message(7));
  complete_invalidations();
  EXPECT_THAT(sent_ids, IsEmpty());
  complete_posted();
  EXPECT_THAT(sent_ids, ElementsAre(ids[0]));
}

TEST_F(Rfc5666Channel, ADoneThatNothingWaitsForIsIgnored) {
  serve();
  arrive(done_message(1));
  arrive(call_message(7));
  arrive(done_message(7));  // it is not replied to yet
  EXPECT_EQ(responder->counters().ignored, 2U);
  reply(ids.at(0), 5000);
  complete_posted();
  arrive(done_message(8));
  EXPECT_TRUE(fabric.invalidated.empty());
  arrive(done_message(7));
  arrive(done_message(7));  // twice
  EXPECT_EQ(fabric.invalidated.size(), 1U);
  complete_invalidations();
  EXPECT_EQ(responder->counters().ignored, 4U);
  EXPECT_EQ(failure(), "");
}

TEST_F(Rfc5666Channel, WhoNeverSendsADoneLosesTheConnection) {
  serve({.credits = 4, .done_timeout = 1000});
  arrive(call_message(7));
  reply(ids.at(0), 5000);
  complete_posted();
  EXPECT_EQ(channel->deadline(), now + 1000);
  now += 999;
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  now += 1;
  channel->expire(now);
  EXPECT_THAT(failure(), HasSubstr("RDMA_DONE"));
}

TEST_F(Rfc5666Channel, WhatWaitsForADoneIsBounded) {
  serve({.credits = 3, .max_advertised_bytes = 12'000});
  for (std::uint32_t xid = 1; xid <= 3; ++xid) {
    arrive(call_message(xid));
    reply(ids.at(xid - 1), 5000);
    EXPECT_EQ(replied, xid <= 2) << xid;
    EXPECT_GE(open(sent()).header.credit, 1U);
    complete_posted();
  }
  EXPECT_EQ(responder->counters().error_chunk, 1U);
  arrive(done_message(1));
  complete_invalidations();
  arrive(call_message(4));
  reply(ids.at(3), 5000);
  EXPECT_TRUE(replied);
  complete_posted();
}

// A peer with one credit may send its next Call before its RDMA_DONE.
TEST_F(Rfc5666Channel, OneCreditIsNoLimitForReadChunks) {
  serve({.credits = 1});
  for (std::uint32_t xid = 1; xid <= 3; ++xid) {
    arrive(call_message(xid));
    reply(ids.at(xid - 1), 5000);
    EXPECT_TRUE(replied);
    EXPECT_EQ(open(sent()).header.credit, 1U);
    complete_posted();
  }
  EXPECT_EQ(responder->counters().error_chunk, 0U);
  for (std::uint32_t xid = 1; xid <= 3; ++xid) arrive(done_message(xid));
  complete_invalidations();
  EXPECT_EQ(sent_ids.size(), 3U);
}

// RFC 5666 section 3.8: chunks in any combination. Positions count the whole stream.
TEST_F(Rfc5666Channel, AReplyPartlyWrittenHasReadChunks) {
  serve();
  OpenHeader call = reply_with(7, {});
  call.writes = {{{50, 6000, 0}}};
  arrive(call.encode(words({7, 0, 0})));
  const Buffer front = words({0, 1, 5000});
  const Buffer between = words({4001});
  const std::array<Piece, 4> message{
      Piece{front, nullptr, false}, Piece{{bytes.data(), 5000}, &memory, true},
      Piece{between, nullptr, false}, Piece{{bytes.data(), 4001}, &memory, true}};
  ASSERT_TRUE(responder->reply(ids.at(0), message, now));
  channel->flush(now);
  const OpenHeader h = open(sent());
  EXPECT_EQ(h.header.proc, wire::Proc::kMsg);
  EXPECT_EQ(h.writes.at(0).at(0).length, 5000U);
  ASSERT_EQ(h.reads.size(), 1U);
  EXPECT_EQ(h.reads[0].position, 12U + 5000 + 4);
  EXPECT_EQ(h.reads[0].target.length, 4001U);
  EXPECT_EQ(payload_of(sent()), words({7, 1, 5000, 4001}));
  complete_posted();
  arrive(done_message(7));
  complete_invalidations();
  EXPECT_EQ(sent_ids.size(), 1U);
}

TEST_F(Rfc5666Channel, AReplyPartlyWrittenIsRead) {
  requester.emplace(*this, RequesterOptions{.credits = 4, .rfc5666 = true});
  start(&*requester, nullptr);
  const Piece piece{small, nullptr, false};
  const ResultSpace space{bytes.data(), 6000, &memory};
  CallSpec spec;
  spec.message = {&piece, 1};
  spec.results = {&space, 1};
  spec.max_reply = 6000;
  const std::uint32_t xid = requester->call(spec, now).value();
  channel->flush(now);
  OpenHeader reply = open(sent());
  complete_posted();
  ASSERT_EQ(reply.writes.size(), 1U);
  reply.header.xid = xid;
  reply.reply.reset();
  reply.writes[0][0].length = 5000;
  reply.reads = {{12 + 5000 + 4, {77, 4001, 0}}};
  arrive(reply.encode(words({xid, 1, 5000, 4001})));
  const auto reads = complete_posted();
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].handle, 77U);
  complete_posted();  // RDMA_DONE
  complete_invalidations();
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kReplied));
}

TEST_F(Rfc5666Channel, APeerThatLetsNobodyReadGetsNoReadChunks) {
  ChannelOptions o;
  o.terms.max_reads = 0;
  serve({}, o);
  arrive(call_message(7));
  reply(ids.at(0), 5000);
  EXPECT_FALSE(replied);
  EXPECT_EQ(open(sent()).header.proc, wire::Proc::kError);
  complete_posted();
  // And its own are not read.
  OpenHeader call = reply_with(8, {{12, {1, 100, 0}}});
  arrive(call.encode(words({8, 0, 100})));
  EXPECT_EQ(open(sent()).header.proc, wire::Proc::kError);
  complete_posted();
}

TEST_F(Rfc5666Channel, OnlySoManyReadsAreUnderWay) {
  ChannelOptions o;
  o.terms.max_reads = 2;
  serve({}, o);
  for (std::uint32_t xid = 1; xid <= 3; ++xid) {
    if (xid == 1) {
      arrive(call_message(9));
      reply(ids.at(0), 4);  // which grants more than one
      complete_posted();
    }
    OpenHeader call = reply_with(xid, {{12, {10 * xid, 100, 0}}, {12, {10 * xid + 1, 100, 0}}});
    arrive(call.encode(words({xid, 0, 200})));
  }
  std::vector<std::uint32_t> read;
  while (!fabric.posted.empty()) {
    EXPECT_LE(fabric.posted.size(), 2U);
    const auto first = fabric.posted.front();
    fabric.posted.erase(fabric.posted.begin());
    EXPECT_EQ(first.operation, fabric::Operation::kRead);
    complete(first.id, first.operation);
    ++read.emplace_back();
  }
  EXPECT_EQ(read.size(), 6U);
  EXPECT_EQ(ids.size(), 4U);
}

TEST_F(Rfc5666Channel, ThePaddingOfACallIsSkipped) {
  serve();
  wire::Header h;
  h.xid = 7;
  h.credit = 8;
  h.proc = wire::Proc::kMsgp;
  h.align = 64;
  h.thresh = 8;
  // 36 bytes of header and 12 of stream: 16 bytes up to the next multiple of 64.
  Buffer stream = words({7, 0, 9});
  stream.resize(stream.size() + 16, 0xcc);
  for (std::uint8_t i = 1; i <= 9; ++i) stream.push_back(i);
  stream.resize(stream.size() + 3);
  arrive(encode(h, stream));
  EXPECT_THAT(contents, ElementsAre(Buffer{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  reply(ids.back(), 4);
  complete_posted();
  // An impossible alignment is refused.
  for (const std::uint32_t align : {0U, 4097U, 0xffffffffU}) {
    h.align = align;
    arrive(encode(h, stream));
    EXPECT_EQ(open(sent()).header.proc, wire::Proc::kError);
    complete_posted();
  }
}

TEST_F(Rfc5666Channel, AReplyIsReadAndAcknowledged) {
  request({.credits = 4});
  const std::uint32_t xid = call(10'000);
  complete_posted();
  arrive(
      reply_with(xid, {{12, {77, 3000, 16}}, {12, {78, 1999, 0}}}).encode(words({xid, 1, 4999})));
  const auto reads = complete_posted();
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[0].operation, fabric::Operation::kRead);
  EXPECT_EQ(reads[0].handle, 77U);
  EXPECT_EQ(reads[1].handle, 78U);
  EXPECT_THAT(statuses, IsEmpty());
  EXPECT_EQ(requester->credits_in_use(), 1U);  // until its RDMA_DONE has arrived
  const OpenHeader done = open(sent());
  EXPECT_EQ(done.header.proc, wire::Proc::kDone);
  EXPECT_EQ(done.header.xid, xid);
  complete_posted();
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kReplied));
  EXPECT_EQ(contents.at(0).size(), 4999U);
  EXPECT_EQ(requester->credits_in_use(), 0U);
}

TEST_F(Rfc5666Channel, AReplyThatIsLongerThanAskedForIsNotRead) {
  request({.credits = 4});
  const std::uint32_t xid = call(1000);
  complete_posted();
  arrive(reply_with(xid, {{12, {77, 1001, 16}}}).encode(words({xid, 1, 1001})));
  EXPECT_TRUE(fabric.posted.empty());
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kBadReply));
}

TEST_F(Rfc5666Channel, AReplyToBeReadFromWhomNobodyMayReadIsRefused) {
  ChannelOptions o;
  o.terms.max_reads = 0;
  request({.credits = 4}, o);
  const std::uint32_t xid = call(1000);
  complete_posted();
  arrive(reply_with(xid, {{12, {77, 100, 16}}}).encode(words({xid, 1, 100})));
  EXPECT_TRUE(fabric.posted.empty());
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kBadReply));
}

TEST_F(Rfc5666Channel, OnlySoManyRepliesAreReadAtATime) {
  ChannelOptions o;
  o.terms.max_reads = 1;
  request({.credits = 4}, o);
  const std::uint32_t first = call(1000);
  complete_posted();
  arrive(reply_with(first, {}).encode(words({first, 1, 0})));  // which grants four
  const std::array<std::uint32_t, 2> xids{call(1000), call(1000)};
  complete_posted();
  for (const std::uint32_t xid : xids) {
    arrive(
        reply_with(xid, {{12, {xid, 50, 16}}, {12, {xid, 50, 100}}}).encode(words({xid, 1, 100})));
  }
  std::vector<std::uint32_t> read;
  while (!fabric.posted.empty()) {
    std::uint32_t under_way = 0;
    for (const auto& p : fabric.posted)
      under_way += p.operation == fabric::Operation::kRead ? 1U : 0U;
    EXPECT_LE(under_way, 1U);
    const auto p = fabric.posted.front();
    fabric.posted.erase(fabric.posted.begin());
    if (p.operation == fabric::Operation::kRead) read.push_back(p.handle);
    complete(p.id, p.operation);
  }
  EXPECT_THAT(read, ElementsAre(xids[0], xids[0], xids[1], xids[1]));
  EXPECT_EQ(statuses.size(), 3U);
}

TEST_F(Rfc5666Channel, AReplyWhoseStreamIsNoReplyIsRefused) {
  request({.credits = 4});
  const std::uint32_t xid = call(1000);
  complete_posted();
  OpenHeader o = reply_with(xid, {{0, {77, 100, 16}}});
  o.header.proc = wire::Proc::kNomsg;
  arrive(o.encode());
  ASSERT_EQ(fabric.posted.size(), 1U);
  std::memset(fabric.posted[0].local.at(0).data, 0xee, fabric.posted[0].local[0].length);
  complete_posted();
  complete_posted();  // RDMA_DONE
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kBadReply));
}

TEST_F(Rfc5666Channel, TheSecondReplyWhileTheFirstIsReadIsIgnored) {
  request({.credits = 4});
  const std::uint32_t xid = call(1000);
  complete_posted();
  const Buffer message = reply_with(xid, {{12, {77, 100, 16}}}).encode(words({xid, 1, 100}));
  arrive(message);
  arrive(message);
  EXPECT_EQ(requester->counters().unmatched, 1U);
  EXPECT_EQ(fabric.posted.size(), 1U);
  // Closed meanwhile: its outcome is reported when nothing is read into its memory any more.
  requester->close(now);
  channel->flush(now);
  EXPECT_THAT(statuses, IsEmpty());
  complete_posted();
  complete_posted();
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kClosed));
}

TEST_F(Rfc5666Channel, ALostConnectionLeavesTheCallToTheNext) {
  request({.credits = 4});
  const std::uint32_t xid = call(1000);
  complete_posted();
  arrive(reply_with(xid, {{12, {77, 100, 16}}}).encode(words({xid, 1, 100})));
  channel->disconnected(now);
  EXPECT_THAT(statuses, IsEmpty());
  EXPECT_EQ(requester->waiting(), 1U);
  channel.reset();
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST_F(Rfc5666Channel, ByDefaultNoneOfItIsTaken) {
  requester.emplace(*this, RequesterOptions{.credits = 4});
  start(&*requester, nullptr);
  const std::uint32_t xid = call(100);
  complete_posted();
  arrive(reply_with(xid, {{12, {77, 100, 16}}}).encode(words({xid, 1, 100})));
  EXPECT_THAT(statuses, ElementsAre(CallStatus::kBadReply));
  EXPECT_TRUE(fabric.posted.empty());
  channel.reset();

  responder.emplace(*this, ResponderOptions{});
  start(nullptr, &*responder);
  wire::Header h;
  h.xid = 7;
  h.proc = wire::Proc::kMsgp;
  h.align = 64;
  h.thresh = 8;
  arrive(encode(h, words({7, 0, 0})));
  EXPECT_EQ(open(sent()).header.error, wire::RdmaErr::kChunk);
  complete_posted();
  arrive(call_message(8));
  reply(ids.at(0), 5000);
  EXPECT_FALSE(replied);
  complete_posted();
}

TEST_F(Rfc5666Channel, TheLengthOfAWriteChunkCountsRoundup) {
  serve();
  OpenHeader call = reply_with(7, {});
  call.writes = {{{50, 1001, 0}, {51, 4000, 0}}};
  arrive(call.encode(words({7, 0, 0})));
  reply(ids.at(0), 2001);
  const OpenHeader h = open(sent());
  ASSERT_EQ(h.writes.size(), 1U);
  EXPECT_EQ(h.writes[0][0].length, 1001U);
  EXPECT_EQ(h.writes[0][1].length, 1003U);  // 2001 bytes and 3 of roundup
  std::uint32_t written = 0;
  for (const auto& p : complete_posted()) {
    if (p.operation == fabric::Operation::kWrite)
      written += static_cast<std::uint32_t>(p.bytes.size());
  }
  EXPECT_EQ(written, 2001U);
  // If there is no room for it, it is not counted.
  call = reply_with(8, {});
  call.writes = {{{50, 2002, 0}}};
  arrive(call.encode(words({8, 0, 0})));
  reply(ids.at(1), 2001);
  EXPECT_EQ(open(sent()).writes.at(0).at(0).length, 2001U);
  complete_posted();
}

}  // namespace
}  // namespace rpcrdma::protocol
