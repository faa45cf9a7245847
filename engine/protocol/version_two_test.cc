// Version 2 (draft-cel-nfsv4-rpcrdma-version-two-02) on both sides of a channel, against a scripted
// peer.
#include "support/channel_ends.h"

#include <rpcrdma/protocol/time_echo.h>

namespace rpcrdma::protocol {
namespace {

using testing::Buffer;
using ::testing::ElementsAre;
using testing::encode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::open;
using testing::OpenHeader;
using testing::payload_of;
using testing::words;

ChannelOptions speaking(Versions versions) {
  ChannelOptions o;
  o.versions = versions;
  o.max_segment = 1000;
  return o;
}

OpenHeader error_of(std::uint32_t version, std::uint32_t xid, wire::RdmaErr error) {
  OpenHeader o;
  o.header.xid = xid;
  o.header.vers = version;
  o.header.credit = 9;
  o.header.proc = wire::Proc::kError;
  o.header.error = error;
  return o;
}
Buffer error_version(std::uint32_t version, std::uint32_t xid, Versions range) {
  OpenHeader o = error_of(version, xid, wire::RdmaErr::kVers);
  o.header.vers_low = range.low;
  o.header.vers_high = range.high;
  return o.encode();
}

struct Ended {
  std::uint32_t xid;
  CallStatus status;
  std::string reason;
  Buffer reply;
  std::uint32_t attempts;
  bool processed;
  std::uint32_t segment_index, length_needed;
  Buffer payload;
};

class VersionTwoRequester : public testing::ChannelTest, public RequesterOwner {
 protected:
  VersionTwoRequester() : bytes(20'000) { memory = {bytes.data(), bytes.size(), 7}; }
  ~VersionTwoRequester() override { channel.reset(); }

  void make(const ChannelOptions& options, const RequesterOptions& more = {.credits = 8}) {
    channel.reset();
    requester.emplace(*this, more);
    start(&*requester, nullptr, options);
  }
  void on_outcome(const CallOutcome& o) override {
    emitted.push_back({o.xid, o.status, o.reason, Buffer(o.reply.begin(), o.reply.end()),
                       o.attempts, o.processed, o.segment_index, o.length_needed,
                       Buffer(o.payload.begin(), o.payload.end())});
  }
  bool on_short_result(std::uint64_t, std::size_t, std::uint64_t wanted,
                       ResultSpace& space) override {
    asked_for.push_back(wanted);
    if (wanted > most_space) return false;
    space.length = static_cast<std::uint32_t>(wanted);
    return true;
  }
  std::uint32_t call(std::uint32_t max_reply = 100, std::uint32_t argument = 0,
                     std::uint32_t result = 0) {
    const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                       Piece{{bytes.data(), argument}, &memory, true}};
    const std::array<ResultSpace, 1> results{ResultSpace{&bytes[8000], result, &memory}};
    CallSpec spec;
    spec.message = std::span(message).first(argument == 0 ? 1 : 2);
    spec.results = std::span(results).first(result == 0 ? 0 : 1);
    spec.max_reply = max_reply;
    const std::uint32_t xid = requester->call(spec, now).value();
    channel->flush(now);
    return xid;
  }
  static Buffer reply_to(std::uint32_t xid, std::uint32_t version = 2,
                         std::uint32_t inv_handle = 0) {
    wire::Header h;
    h.xid = xid;
    h.vers = version;
    h.credit = 4;
    h.direction = wire::MsgType::kReply;
    h.inv_handle = inv_handle;
    return encode(h, words({xid, 1, 0, 0}));
  }
  // The only Call that was posted.
  OpenHeader only_sent() {
    EXPECT_EQ(fabric.posted.size(), 1U);
    const OpenHeader h = open(sent());
    complete_posted();
    return h;
  }

  std::optional<Requester> requester;
  std::vector<Ended> emitted;
  std::vector<std::uint64_t> asked_for;
  std::uint64_t most_space = 0;
  Buffer small = words({0xdead, 0, 2, 3, 4, 5});
  Buffer bytes;
  fabric::Memory memory;
};

TEST_F(VersionTwoRequester, CallsAndIsAnswered) {
  make(speaking({2, 2}));
  const std::uint32_t xid = call();
  const OpenHeader h = only_sent();
  EXPECT_EQ(h.header.vers, 2U);
  EXPECT_EQ(h.header.direction, wire::MsgType::kCall);
  EXPECT_EQ(h.header.inv_handle, 0U);
  EXPECT_TRUE(channel->lacks_version_two());
  arrive(reply_to(xid));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  EXPECT_EQ(requester->credit_limit(), 4U);
  EXPECT_FALSE(channel->lacks_version_two());
}

// V2-05, V2-06: the first message is short and alone; then the threshold is 4096.
TEST_F(VersionTwoRequester, TheFirstMessageIsShortAndAlone) {
  make(speaking({1, 2}));
  const std::uint32_t first = call(100, 2000);
  call(100, 2000);
  const OpenHeader h = only_sent();
  EXPECT_EQ(h.reads.size(), 2U);
  arrive(reply_to(first));
  complete_invalidations();
  EXPECT_THAT(open(sent()).reads, IsEmpty());
  EXPECT_GT(sent().size(), 2000U);
  EXPECT_LE(sent().size(), 4096U);
}

TEST_F(VersionTwoRequester, FallsBackOnTheSameConnection) {
  make(speaking({1, 2}));
  const std::uint32_t xid = call(100, 2000);
  EXPECT_EQ(only_sent().header.vers, 2U);
  arrive(error_version(1, xid, {1, 1}));
  EXPECT_THAT(emitted, IsEmpty());
  EXPECT_THAT(fabric.posted, IsEmpty());
  complete_invalidations();  // memory that the peer could access is fenced before it is offered
                             // again
  const OpenHeader again = only_sent();
  EXPECT_EQ(again.header.vers, 1U);
  EXPECT_EQ(again.header.xid, xid);
  EXPECT_EQ(channel->version(), 1U);
  EXPECT_TRUE(channel->lacks_version_two());
  arrive(reply_to(xid, 1));
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  EXPECT_EQ(emitted[0].attempts, 2U);
  EXPECT_EQ(requester->counters().renegotiated, 1U);
  EXPECT_EQ(requester->counters().resent, 0U);
  EXPECT_EQ(failure(), "");
}

TEST_F(VersionTwoRequester, DoesNotGoRoundWithAPeerThatContradictsItself) {
  for (const Versions range : {Versions{1, 2}, Versions{2, 2}, Versions{3, 9}, Versions{9, 1}}) {
    emitted.clear();
    make(speaking({2, 2}));
    arrive(error_version(2, call(), range));
    ASSERT_EQ(emitted.size(), 1U);
    EXPECT_EQ(emitted[0].status, CallStatus::kErrorVersion);
    fabric.posted.clear();
  }
  // Downwards, and no further.
  emitted.clear();
  make(speaking({1, 2}));
  const std::uint32_t xid = call();
  arrive(error_version(2, xid, {0, 1}));
  EXPECT_EQ(open(sent()).header.vers, 1U);
  complete_posted();
  arrive(error_version(1, xid, {0, 1}));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kErrorVersion);
}

TEST_F(VersionTwoRequester, ASilentPeerEndsTheConnectionAndIsRemembered) {
  ChannelOptions o = speaking({1, 2});
  o.negotiation_timeout = fabric::kSecond;
  make(o);
  call();
  EXPECT_EQ(channel->deadline(), now + fabric::kSecond);
  now += fabric::kSecond;
  channel->expire(now);
  EXPECT_THAT(failure(), HasSubstr("no answer to the first message of version 2"));
  EXPECT_TRUE(channel->lacks_version_two());
  EXPECT_THAT(emitted, IsEmpty());  // the Call goes to the next connection
}

TEST_F(VersionTwoRequester, NamesAHandleThatMayBeInvalidated) {
  ChannelOptions o = speaking({2, 2});
  o.accepts_invalidate = true;
  make(o);
  const std::uint32_t xid = call(100, 2000);
  const OpenHeader h = only_sent();
  ASSERT_FALSE(h.reads.empty());
  EXPECT_EQ(h.header.inv_handle, h.reads[0].target.handle);
  arrive(reply_to(xid, 2, h.header.inv_handle), h.header.inv_handle);
  EXPECT_THAT(emitted, IsEmpty());
  EXPECT_EQ(fabric.invalidated.size(), h.reads.size() - 1);  // the rest itself
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  EXPECT_EQ(requester->counters().invalidated, 1U);
}

TEST_F(VersionTwoRequester, AnotherHandleThanTheNamedOneEndsTheConnection) {
  ChannelOptions o = speaking({2, 2});
  o.accepts_invalidate = true;
  make(o);
  const std::uint32_t xid = call(100, 2000);
  const OpenHeader h = only_sent();
  arrive(reply_to(xid, 2, h.header.inv_handle), h.reads[1].target.handle);
  EXPECT_THAT(failure(), HasSubstr("invalidated a handle that is not its Call's"));
}

TEST_F(VersionTwoRequester, AReplyWithAnotherInvHandleIsBad) {
  make(speaking({2, 2}));
  arrive(reply_to(call(), 2, 77));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kBadReply);
  EXPECT_THAT(emitted[0].reason, HasSubstr("rdma_inv_handle"));
}

// V2-10
TEST_F(VersionTwoRequester, OffersALongerReplyChunkWhenAsked) {
  make(speaking({2, 2}));
  const std::uint32_t xid = call(2500);
  const OpenHeader first = only_sent();
  ASSERT_TRUE(first.reply);
  ASSERT_EQ(first.reply->size(), 3U);  // 1000, 1000, 500
  OpenHeader e = error_of(2, xid, wire::RdmaErr::kCantReply);
  e.header.processed = true;
  e.header.segment_index = 3;
  e.header.length_needed = 900;
  arrive(e.encode());
  complete_invalidations();
  const OpenHeader again = only_sent();
  EXPECT_EQ(again.header.xid, xid);
  ASSERT_TRUE(again.reply);
  EXPECT_EQ(again.reply->back().length, 900U);
  EXPECT_EQ(requester->counters().enlarged, 1U);
  EXPECT_EQ(requester->counters().cant_reply, 1U);
  // Asked for less than that, it ends.
  arrive(e.encode());
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCantReply);
  EXPECT_TRUE(emitted[0].processed);
  EXPECT_EQ(emitted[0].segment_index, 3U);
  EXPECT_EQ(emitted[0].length_needed, 900U);
}

TEST_F(VersionTwoRequester, OffersAReplyChunkWhereThereWasNone) {
  make(speaking({2, 2}));
  const std::uint32_t xid = call();
  EXPECT_FALSE(only_sent().reply);
  OpenHeader e = error_of(2, xid, wire::RdmaErr::kCantReply);
  e.header.length_needed = 5000;
  arrive(e.encode());
  const OpenHeader again = only_sent();
  ASSERT_TRUE(again.reply);
  EXPECT_EQ(again.reply->size(), 5U);
}

// A peer that keeps to 4096 bytes although private data allows more, and cannot state the length it
// needs.
TEST_F(VersionTwoRequester, OffersChunksForAllWhereThePeerSendsLessInline) {
  ChannelOptions o = speaking({2, 2});
  o.terms.inline_receive_2 = 65'536;
  for (const std::uint32_t result : {0U, 9000U}) {
    emitted.clear();
    make(o);
    arrive(reply_to(call()));
    complete_posted();
    const std::uint32_t xid = call(2500, 0, result);
    const OpenHeader first = only_sent();
    EXPECT_TRUE(first.writes.empty());
    EXPECT_FALSE(first.reply);
    const OpenHeader e = error_of(2, xid, wire::RdmaErr::kCantReply);
    arrive(e.encode());
    const OpenHeader again = only_sent();
    EXPECT_EQ(again.header.xid, xid);
    EXPECT_EQ(again.writes.size(), result == 0 ? 0U : 1U);
    ASSERT_TRUE(again.reply);
    EXPECT_EQ(again.reply->size(), 3U);
    EXPECT_EQ(again.reply->back().length, 500U);
    // Refused again, it ends.
    arrive(e.encode());
    complete_invalidations();
    ASSERT_EQ(emitted.size(), 2U);
    EXPECT_EQ(emitted[1].status, CallStatus::kCantReply);
    // From now on, a Reply that does not fit into 4096 bytes gets its chunk at once.
    static_cast<void>(call(2500, 0, result));
    EXPECT_EQ(only_sent().writes.size(), result == 0 ? 0U : 1U);
  }
}

TEST_F(VersionTwoRequester, SendsNoMoreThanAPeerTakesThatHasNotShownThatItTakesMore) {
  ChannelOptions o = speaking({2, 2});
  o.terms.inline_send_2 = o.terms.inline_receive_2 = 65'536;
  make(o);
  arrive(reply_to(call()));
  complete_posted();
  const std::uint32_t xid = call(8000, 5000);
  EXPECT_EQ(only_sent().reads.size(), 5U);
  Buffer longer = reply_to(xid);
  longer.resize(5000);
  arrive(longer);
  complete_invalidations();
  call(8000, 5000);
  EXPECT_THAT(only_sent().reads, IsEmpty());
}

TEST_F(VersionTwoRequester, AsksItsOwnerForMoreSpaceOfAResult) {
  make(speaking({2, 2}));
  most_space = 4000;
  const std::uint32_t xid = call(100, 0, 1500);
  const OpenHeader first = only_sent();
  ASSERT_EQ(first.writes.size(), 1U);
  ASSERT_EQ(first.writes[0].size(), 2U);
  OpenHeader e = error_of(2, xid, wire::RdmaErr::kCantReply);
  e.header.segment_index = 2;
  e.header.length_needed = 2000;
  arrive(e.encode());
  complete_invalidations();
  EXPECT_THAT(asked_for, ElementsAre(3000U));
  const OpenHeader again = only_sent();
  ASSERT_EQ(again.writes.size(), 1U);
  EXPECT_EQ(again.writes[0].size(), 3U);
  // Requests for ever more room are limited.
  for (std::uint32_t more = 2001; emitted.empty() && more < 2100; ++more) {
    e.header.segment_index = 2;
    e.header.length_needed = more;
    arrive(e.encode());
    complete_invalidations();
    complete_posted();
  }
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCantReply);
}

TEST_F(VersionTwoRequester, BelievesNoIndexBeyondItsSegments) {
  make(speaking({2, 2}));
  OpenHeader e = error_of(2, call(2500), wire::RdmaErr::kCantReply);
  e.header.segment_index = 4;
  e.header.length_needed = 5000;
  complete_posted();
  arrive(e.encode());
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCantReply);
}

TEST_F(VersionTwoRequester, TheOtherErrorsEndACallByTheirNames) {
  make(speaking({2, 2}));
  for (const auto& [error, status] :
       {std::pair{wire::RdmaErr::kChunk, CallStatus::kErrorChunk},
        std::pair{wire::RdmaErr::kInvalProc, CallStatus::kErrorProc},
        std::pair{wire::RdmaErr::kInvalOption, CallStatus::kErrorOption}}) {
    emitted.clear();
    arrive(error_of(2, call(), error).encode());
    ASSERT_EQ(emitted.size(), 1U);
    EXPECT_EQ(emitted[0].status, status);
    // An error carries no credit grant (V2-06).
    EXPECT_EQ(requester->credit_limit(), 1U);
  }
  EXPECT_EQ(requester->counters().error_chunk, 2U);  // also of a type that the peer does not know
  EXPECT_EQ(requester->counters().error_option, 1U);
}

TEST_F(VersionTwoRequester, AsksAnOptionAndIsAnswered) {
  make(speaking({2, 2}));
  const auto info = encode_time_echo(77);
  const std::uint32_t xid = requester->option({kTimeEchoOption, info, 1000, 5}, now).value();
  channel->flush(now);
  const auto header = wire::decode_header(fabric.posted.at(0).bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->proc, wire::Proc::kOptional);
  EXPECT_EQ(header->direction, wire::MsgType::kCall);
  EXPECT_EQ(header->opttype, kTimeEchoOption);
  EXPECT_EQ(header->xid, xid);
  complete_posted();
  wire::Header h;
  h.xid = xid;
  h.vers = 2;
  h.credit = 3;
  h.proc = wire::Proc::kOptional;
  h.direction = wire::MsgType::kReply;
  h.opttype = kTimeEchoOption;
  const Buffer answer = words({0, 77, 0, 99});
  h.optinfo = answer;
  arrive(encode(h));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  const auto echo = decode_time_echo(emitted[0].reply);
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->sent, 77U);
  EXPECT_EQ(echo->answered, 99U);
  EXPECT_EQ(requester->credit_limit(), 3U);
}

// All, part or none of an RPC message follows the header (section 5.2.1).
TEST_F(VersionTwoRequester, OptionsCarryRpcMessagesAndParts) {
  make(speaking({2, 2}));
  const Buffer front = words({0xdead, 0, 2, 3});
  const Buffer end{'a', 'b', 'c', 'd', 'e'};
  const std::array<Piece, 2> message{Piece{front, nullptr, false}, Piece{end, nullptr, true}};
  OptionSpec spec{77, {}, 1000, 5, message, false};
  for (const bool is_part : {false, true}) {
    emitted.clear();
    fabric.posted.clear();
    spec.is_part = is_part;
    const std::uint32_t xid = requester->option(spec, now).value();
    channel->flush(now);
    const Buffer sent = fabric.posted.at(0).bytes;
    Buffer expected = words({is_part ? 0xdead : xid, 0, 2, 3});
    expected.insert(expected.end(), {'a', 'b', 'c', 'd', 'e', 0, 0, 0});
    EXPECT_EQ(Buffer(sent.begin() + 28, sent.end()), expected);
    complete_posted();
    wire::Header h;
    h.xid = xid;
    h.vers = 2;
    h.credit = 3;
    h.proc = wire::Proc::kOptional;
    h.direction = wire::MsgType::kReply;
    h.opttype = 77;
    Buffer answer = encode(h);
    const Buffer payload = words({xid, 1, 9});
    answer.insert(answer.end(), payload.begin(), payload.end());
    arrive(answer);
    ASSERT_EQ(emitted.size(), 1U);
    EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
    EXPECT_THAT(emitted[0].reply, IsEmpty());
    EXPECT_EQ(emitted[0].payload, payload);
  }
  // A part may be shorter than an XID.
  const Piece one{{front.data(), 1}, nullptr, false};
  spec.message = {&one, 1};
  fabric.posted.clear();
  ASSERT_TRUE(requester->option(spec, now));
  channel->flush(now);
  EXPECT_EQ(fabric.posted.at(0).bytes.size(), 29U);
  spec.is_part = false;
  EXPECT_FALSE(requester->option(spec, now));
}

TEST_F(VersionTwoRequester, AnOptionIsInlineOrIsNotSent) {
  make(speaking({2, 2}));
  const Buffer longer(kFirstMessageThreshold);
  const Piece piece{longer, nullptr, false};
  ASSERT_TRUE(requester->option({77, {}, 1000, 5, {&piece, 1}, false}, now));
  channel->flush(now);
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCannotSend);
  EXPECT_THAT(fabric.posted, IsEmpty());
}

TEST_F(VersionTwoRequester, VersionOneHasNoOptions) {
  make(speaking({1, 2}));
  const std::uint32_t xid = requester->option({kTimeEchoOption, {}, 1000, 5}, now).value();
  channel->flush(now);
  complete_posted();
  arrive(error_version(1, xid, {1, 1}));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCannotSend);
}

TEST_F(VersionTwoRequester, ARefusedCallThatIsFencedTooLateTimesOut) {
  make(speaking({1, 2}));
  const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                     Piece{{bytes.data(), 2000}, &memory, true}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  spec.timeout = fabric::kSecond;
  const std::uint32_t xid = requester->call(spec, now).value();
  channel->flush(now);
  complete_posted();
  arrive(error_version(1, xid, {1, 1}));
  now += fabric::kSecond;
  channel->expire(now);
  EXPECT_THAT(emitted, IsEmpty());
  EXPECT_EQ(failure(), "");
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kTimedOut);
}

TEST_F(VersionTwoRequester, ClosingEndsWhatWasToBeSentAgain) {
  make(speaking({1, 2}));
  const std::uint32_t xid = call(100, 2000);
  complete_posted();
  arrive(error_version(1, xid, {1, 1}));
  requester->close(now);
  channel->flush(now);
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kClosed);
}

TEST_F(VersionTwoRequester, InlineOnlyUsesNoChunks) {
  make(speaking({1, 1}), {.credits = 8, .inline_only = true});
  call(100, 2000);
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCannotSend);
  call(2000);
  ASSERT_EQ(emitted.size(), 2U);
  EXPECT_EQ(emitted[1].status, CallStatus::kCannotSend);
  call(100, 500);
  EXPECT_THAT(only_sent().reads, IsEmpty());
}

class VersionTwoResponder : public testing::ChannelTest, public ResponderOwner {
 protected:
  VersionTwoResponder() { add_time_echo(options); }
  ~VersionTwoResponder() override { channel.reset(); }

  void make(const ChannelOptions& channel_options) {
    channel.reset();
    responder.emplace(*this, ResponderOptions{.credits = 8, .options = &options});
    start(nullptr, &*responder, channel_options);
  }
  void on_call(const IncomingCall& c) override { seen.push_back(c.id); }
  void on_sent(std::uint64_t) override {}
  void on_cancelled(std::uint64_t) override {}

  static OpenHeader open_call(std::uint32_t xid, std::uint32_t version = 2) {
    OpenHeader o;
    o.header.xid = xid;
    o.header.vers = version;
    o.header.credit = 8;
    return o;
  }
  static Buffer stream(std::uint32_t xid) { return words({xid, 0, 2, 3, 4}); }
  fabric::Expected<void> reply(std::uint32_t more = 0, bool ddp = false) {
    const Buffer front = words({0xdead, 1, 5, 6});
    const Buffer result(more);
    const std::array<Piece, 2> message{Piece{front, nullptr, false}, Piece{result, nullptr, ddp}};
    auto done = responder->reply(seen.back(), std::span(message).first(more == 0 ? 1 : 2), now);
    channel->flush(now);
    return done;
  }
  OpenHeader refusal() {
    const OpenHeader h = open(sent());
    EXPECT_EQ(h.header.proc, wire::Proc::kError);
    complete_posted();
    return h;
  }

  OptionRegistry options;
  std::optional<Responder> responder;
  std::vector<std::uint64_t> seen;
};

TEST_F(VersionTwoResponder, AnswersEachCallInItsVersion) {
  make(speaking({1, 2}));
  for (const std::uint32_t version : {2U, 1U, 2U}) {
    arrive(open_call(5, version).encode(stream(5)));
    ASSERT_TRUE(reply());
    const OpenHeader h = open(sent());
    EXPECT_EQ(h.header.vers, version);
    const auto direction = version == 2 ? wire::MsgType::kReply : wire::MsgType::kCall;
    EXPECT_EQ(h.header.direction, direction);  // version 1 has none
    EXPECT_EQ(payload_of(sent()), words({5, 1, 5, 6}));
    EXPECT_EQ(channel->version(), version);
    complete_posted();
  }
}

TEST_F(VersionTwoResponder, SaysWhichVersionsItSpeaks) {
  make(speaking({1, 2}));
  arrive(open_call(5, 2).encode(stream(5)));
  ASSERT_TRUE(reply());
  complete_posted();
  Buffer three = open_call(6, 2).encode(stream(6));
  three[7] = 3;
  arrive(three);
  OpenHeader h = refusal();
  EXPECT_EQ(h.header.error, wire::RdmaErr::kVers);
  EXPECT_EQ(h.header.vers, 3U);
  EXPECT_EQ(h.header.vers_low, 1U);
  EXPECT_EQ(h.header.vers_high, 2U);
  make(speaking({2, 2}));
  arrive(open_call(7, 1).encode(stream(7)));
  h = refusal();
  EXPECT_EQ(h.header.vers, 1U);
  EXPECT_EQ(h.header.vers_low, 2U);
}

TEST_F(VersionTwoResponder, RefusesWhatItCannotParse) {
  make(speaking({2, 2}));
  const auto refused = [&](const Buffer& message) {
    arrive(message);
    const OpenHeader h = refusal();
    EXPECT_EQ(h.header.vers, 2U);
    EXPECT_EQ(h.header.xid, 5U);
    return h.header.error;
  };
  Buffer message = open_call(5).encode(stream(5));
  message[15] = 3;
  EXPECT_EQ(refused(message), wire::RdmaErr::kInvalProc);
  message[15] = 200;
  EXPECT_EQ(refused(message), wire::RdmaErr::kInvalProc);
  EXPECT_EQ(responder->counters().error_proc, 2U);
  message = open_call(5).encode(stream(5));
  message.resize(30);
  EXPECT_EQ(refused(message), wire::RdmaErr::kChunk);
  // rdma_inv_handle is none of the Call's (V2-03).
  OpenHeader h = open_call(5);
  h.reads = {{20, {3, 100, 0}}};
  h.header.inv_handle = 4;
  EXPECT_EQ(refused(h.encode(stream(5))), wire::RdmaErr::kChunk);
  EXPECT_THAT(seen, IsEmpty());
}

TEST_F(VersionTwoResponder, ARepliesDirectionIsIgnored) {
  make(speaking({2, 2}));
  // No error answers a Reply (ERR-06), also if rdma_direction is not its msg_type (V2-02).
  arrive(open_call(5).encode(words({5, 1, 0, 0})));
  EXPECT_THAT(fabric.posted, IsEmpty());
  EXPECT_EQ(responder->counters().ignored, 1U);
  OpenHeader h = open_call(5);
  h.header.direction = wire::MsgType::kReply;
  arrive(h.encode(words({5, 1, 0, 0})));
  EXPECT_THAT(fabric.posted, IsEmpty());
  EXPECT_EQ(responder->counters().ignored, 2U);
}

TEST_F(VersionTwoResponder, InvalidatesTheHandleThatTheCallNames) {
  ChannelOptions o = speaking({1, 2});
  o.sends_invalidate = true;
  make(o);
  OpenHeader h = open_call(5);
  h.writes = {{{10, 100, 0}, {11, 100, 0}}};
  h.header.inv_handle = 11;
  arrive(h.encode(stream(5)));
  ASSERT_TRUE(reply());
  EXPECT_EQ(fabric.posted.back().operation, fabric::Operation::kSendInvalidate);
  EXPECT_EQ(fabric.posted.back().invalidate, 11U);
  EXPECT_EQ(open(sent()).header.inv_handle, 11U);
  complete_posted();
  // Named none: none. Version 1 without the flag R: none.
  h.header.inv_handle = 0;
  arrive(h.encode(stream(5)));
  ASSERT_TRUE(reply());
  EXPECT_EQ(fabric.posted.back().operation, fabric::Operation::kSend);
  complete_posted();
  h.header.vers = 1;
  arrive(h.encode(stream(5)));
  ASSERT_TRUE(reply());
  EXPECT_EQ(fabric.posted.back().operation, fabric::Operation::kSend);
}

TEST_F(VersionTwoResponder, ChoosesAHandleOfAVersionOneCallWhereBothCan) {
  ChannelOptions o = speaking({1, 2});
  o.sends_invalidate = true;
  o.terms.remote_invalidation = true;
  make(o);
  OpenHeader h = open_call(5, 1);
  h.writes = {{{10, 0, 0}}, {{11, 100, 0}}};
  arrive(h.encode(stream(5)));
  ASSERT_TRUE(reply());
  EXPECT_EQ(fabric.posted.back().operation, fabric::Operation::kSendInvalidate);
  EXPECT_EQ(fabric.posted.back().invalidate, 11U);
  complete_posted();
  // Not with an error (INV-03), and not without a handle to invalidate.
  h.writes.erase(h.writes.begin());
  arrive(h.encode(stream(5)));
  EXPECT_FALSE(reply(500, true));
  EXPECT_EQ(fabric.posted.back().operation, fabric::Operation::kSend);
  complete_posted();
  arrive(open_call(6, 1).encode(stream(6)));
  ASSERT_TRUE(reply());
  EXPECT_EQ(fabric.posted.back().operation, fabric::Operation::kSend);
  EXPECT_EQ(responder->counters().invalidated, 1U);
}

// V2-09
TEST_F(VersionTwoResponder, SaysWhatTheReplyWouldNeed) {
  make(speaking({2, 2}));
  OpenHeader h = open_call(5);
  h.reads = {};
  h.writes = {{{10, 100, 0}, {11, 50, 0}}};
  h.reply.emplace({wire::Segment{12, 300, 0}, wire::Segment{13, 400, 0}});
  arrive(h.encode(stream(5)));
  EXPECT_FALSE(reply(180, true));
  OpenHeader e = refusal();
  EXPECT_EQ(e.header.error, wire::RdmaErr::kCantReply);
  EXPECT_TRUE(e.header.processed);
  EXPECT_EQ(e.header.segment_index, 2U);
  EXPECT_EQ(e.header.length_needed, 80U);
  arrive(h.encode(stream(5)));
  EXPECT_FALSE(reply(6000, false));
  e = refusal();
  EXPECT_EQ(e.header.segment_index, 4U);
  EXPECT_EQ(e.header.length_needed, 6016U - 300U);
  h.reply.reset();
  arrive(h.encode(stream(5)));
  EXPECT_FALSE(reply(6000, false));
  e = refusal();
  EXPECT_EQ(e.header.segment_index, 0U);
  EXPECT_EQ(e.header.length_needed, 6016U);
  EXPECT_EQ(responder->counters().cant_reply, 3U);
}

TEST_F(VersionTwoResponder, RefusesBeforeProcessingWhatNoReplyHasRoomFor) {
  ChannelOptions o = speaking({2, 2});
  o.terms.inline_send_2 = 1024;
  make(o);
  OpenHeader h = open_call(5);
  h.writes.resize(1);
  for (std::uint32_t i = 0; i < 64; ++i) h.writes[0].push_back({i, 100, 0});
  arrive(h.encode(stream(5)));
  EXPECT_THAT(seen, IsEmpty());
  const OpenHeader e = refusal();
  EXPECT_EQ(e.header.error, wire::RdmaErr::kCantReply);
  EXPECT_FALSE(e.header.processed);
  EXPECT_EQ(e.header.segment_index, 0U);
}

TEST_F(VersionTwoResponder, AnswersOptionsItKnows) {
  make(speaking({1, 2}));
  now = 99;
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kOptional;
  h.header.opttype = kTimeEchoOption;
  const auto info = encode_time_echo(77);
  h.header.optinfo = info;
  arrive(h.encode());
  const auto answer = wire::decode_header(fabric.posted.at(0).bytes);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->proc, wire::Proc::kOptional);
  EXPECT_EQ(answer->direction, wire::MsgType::kReply);
  EXPECT_EQ(answer->xid, 5U);
  const auto echo = decode_time_echo(answer->optinfo);
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->sent, 77U);
  EXPECT_EQ(echo->answered, 99U);
  complete_posted();
  // Content that is not the option's, a payload that it does not have, and an unknown option.
  h.header.optinfo = std::span(info).first(4);
  arrive(h.encode());
  EXPECT_EQ(refusal().header.error, wire::RdmaErr::kChunk);
  h.header.optinfo = info;
  arrive(h.encode(stream(5)));
  EXPECT_EQ(refusal().header.error, wire::RdmaErr::kChunk);
  h.header.opttype = 1;
  arrive(h.encode());
  EXPECT_EQ(refusal().header.error, wire::RdmaErr::kInvalOption);
  EXPECT_EQ(responder->counters().options, 1U);
  EXPECT_EQ(responder->counters().error_option, 1U);
  EXPECT_EQ(responder->counters().error_chunk, 2U);
}

TEST_F(VersionTwoResponder, AnOptionsPayloadReachesItsHandler) {
  make(speaking({1, 2}));
  std::size_t room = 0;
  options.add(7, [&](const OptionMessage& m, const OptionRoom& out) {
    room = out.payload.size();
    std::ranges::copy(m.info, out.info.begin());
    std::ranges::copy(m.payload, out.payload.begin());
    return OptionAnswer{m.info.size(), m.payload.size(), false};
  });
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kOptional;
  h.header.opttype = 7;
  const Buffer info{1, 2, 3};
  h.header.optinfo = info;
  for (const Buffer& part : {Buffer{}, Buffer{9}, stream(5)}) {
    arrive(h.encode(part));
    const Buffer message = sent();
    const auto answer = wire::decode_header(message);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->proc, wire::Proc::kOptional);
    EXPECT_EQ(Buffer(answer->optinfo.begin(), answer->optinfo.end()), info);
    EXPECT_EQ(payload_of(message), part);
    complete_posted();
  }
  EXPECT_EQ(room, kVersionTwoThreshold - option_header_bytes(kMaxOptionInfo));
  EXPECT_THAT(seen, IsEmpty());
}

TEST_F(VersionTwoResponder, AnOptionMayCarryAWholeCall) {
  make(speaking({1, 2}));
  options.add(8, [](const OptionMessage&, const OptionRoom& out) {
    out.info[0] = 42;
    return OptionAnswer{.info_bytes = 1, .delivers = true};
  });
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kOptional;
  h.header.opttype = 8;
  arrive(h.encode(stream(5)));
  ASSERT_EQ(seen.size(), 1U);
  ASSERT_TRUE(reply(5, true));
  const Buffer message = sent();
  const auto answer = wire::decode_header(message);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->proc, wire::Proc::kOptional);
  EXPECT_EQ(answer->opttype, 8U);
  EXPECT_EQ(answer->optinfo[0], 42);
  Buffer expected = words({5, 1, 5, 6});
  expected.resize(expected.size() + 8);
  EXPECT_EQ(payload_of(sent()), expected);
  EXPECT_EQ(responder->counters().options, 1U);
  EXPECT_EQ(responder->counters().replies, 1U);
  EXPECT_EQ(responder->counters().bytes.inline_replies, expected.size());
  complete_posted();
  // No whole Call, and a Reply that is too long.
  arrive(h.encode(words({5})));
  EXPECT_EQ(refusal().header.error, wire::RdmaErr::kChunk);
  arrive(h.encode(words({6, 0, 2})));
  EXPECT_EQ(refusal().header.error, wire::RdmaErr::kChunk);
  EXPECT_EQ(seen.size(), 1U);
  arrive(h.encode(stream(5)));
  EXPECT_FALSE(reply(5000));
  EXPECT_EQ(refusal().header.error, wire::RdmaErr::kCantReply);
  // The next Call in its slot is an ordinary one.
  arrive(open_call(6).encode(stream(6)));
  ASSERT_TRUE(reply());
  EXPECT_EQ(open(sent()).header.proc, wire::Proc::kMsg);
  complete_posted();
  EXPECT_EQ(responder->outstanding(), 0U);
}

TEST_F(VersionTwoResponder, ARequesterThatComesLaterSpeaksThePeersVersion) {
  struct Owner : RequesterOwner {
    void on_outcome(const CallOutcome& o) override { statuses.push_back(o.status); }
    std::vector<CallStatus> statuses;
  } owner;
  Requester later(owner, {.credits = 2, .first_xid = 5});
  ChannelOptions o = speaking({1, 2});
  o.later_credits = 2;
  make(o);
  EXPECT_EQ(fabric.receives.size(), 8U + 2U + 2U);
  for (const std::uint32_t version : {1U, 2U}) {
    arrive(open_call(5, version).encode(stream(5)));
    ASSERT_TRUE(reply());
    complete_posted();
    if (!channel->has_requester()) channel->attach(later, now);
    const Buffer small = words({0xdead, 0, 2, 3, 4, 5});
    const std::array<Piece, 1> message{Piece{small, nullptr, false}};
    CallSpec spec;
    spec.message = message;
    spec.max_reply = 3000;
    const std::uint32_t xid = later.call(spec, now).value();
    channel->flush(now);
    const OpenHeader h = open(sent());
    EXPECT_EQ(h.header.vers, version);
    // The peer has shown that it accepts 4096 bytes.
    EXPECT_EQ(h.reply.has_value(), version == 1);
    complete_posted();
    wire::Header answer;
    answer.xid = xid;
    answer.vers = version;
    answer.credit = 1;
    answer.direction = wire::MsgType::kReply;
    if (h.reply) {
      const auto chunk = *h.reply;
      std::vector<wire::Segment> empty = chunk;
      for (auto& s : empty) s.length = 0;
      answer.reply = empty;
      arrive(encode(answer, words({xid, 1, 0, 0})));
    } else {
      arrive(encode(answer, words({xid, 1, 0, 0})));
    }
    complete_invalidations();
    EXPECT_THAT(owner.statuses, ElementsAre(CallStatus::kReplied));
    owner.statuses.clear();
  }
  channel.reset();
}

}  // namespace
}  // namespace rpcrdma::protocol
