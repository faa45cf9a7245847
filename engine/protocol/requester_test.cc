// The requester against a scripted peer: credits, which memory is advertised and when it is fenced,
// and every invalid Reply.
#include "support/channel_ends.h"

#include <functional>

#include <rpcrdma/protocol/requester.h>

namespace rpcrdma::protocol {
namespace {

using testing::Buffer;
using ::testing::ElementsAre;
using testing::encode;
using testing::FakeFabric;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::open;
using testing::OpenHeader;
using testing::options_with;
using testing::words;

constexpr auto kRead = fabric::Access::kRemoteRead;
constexpr auto kWrite = fabric::Access::kRemoteWrite;

struct Emitted {
  std::uint64_t cookie;
  std::uint32_t xid;
  CallStatus status;
  std::string reason;
  Buffer reply;
  std::vector<std::uint32_t> result_bytes;
  CallTimes times;
  std::uint32_t attempts;
  std::uint32_t vers_low, vers_high;
  bool lost;
};

class RequesterTest : public testing::ChannelTest, public RequesterOwner {
 protected:
  explicit RequesterTest(const MemoryPool::Options& pool_options = {})
      : ChannelTest(pool_options), memory_bytes(100'000) {
    memory = {memory_bytes.data(), memory_bytes.size(), 7};
  }
  ~RequesterTest() override { channel.reset(); }

  void make(const RequesterOptions& options, const ChannelOptions& channel_options = {}) {
    channel.reset();
    requester.emplace(*this, options);
    start(&*requester, nullptr, channel_options);
  }
  void start_again(const ChannelOptions& options = {}) { start(&*requester, nullptr, options); }
  void disconnect() { channel->disconnected(now); }

  void on_outcome(const CallOutcome& o) override {
    emitted.push_back({o.cookie,
                       o.xid,
                       o.status,
                       o.reason,
                       Buffer(o.reply.begin(), o.reply.end()),
                       {o.result_bytes.begin(), o.result_bytes.end()},
                       o.times,
                       o.attempts,
                       o.vers_low,
                       o.vers_high,
                       o.lost});
    if (then) then();
  }

  // A short Call; flush() sends it if it may be sent.
  std::uint32_t call(std::uint64_t cookie = 0, fabric::Time timeout = fabric::kNever) {
    const std::uint32_t xid = call_unflushed(cookie, timeout);
    channel->flush(now);
    return xid;
  }
  std::uint32_t call_unflushed(std::uint64_t cookie, fabric::Time timeout = fabric::kNever) {
    const std::array<Piece, 1> message{Piece{small, nullptr, false}};
    CallSpec spec;
    spec.message = message;
    spec.max_reply = 100;
    spec.cookie = cookie;
    spec.timeout = timeout;
    return requester->call(spec, now).value();
  }
  // A Call with a Read chunk, a Write chunk of two segments and an unused one, and a Reply chunk.
  std::uint32_t call_with_chunks(bool registered = true) {
    const std::array<Piece, 3> message{
        Piece{small, nullptr, false},
        Piece{{memory_bytes.data(), 1001}, registered ? &memory : nullptr, true},
        Piece{small, nullptr, false}};
    const std::array<ResultSpace, 2> results{ResultSpace{&memory_bytes[2000], 1500, &memory},
                                             ResultSpace{&memory_bytes[4000], 100, &memory}};
    CallSpec spec;
    spec.message = message;
    spec.results = results;
    spec.max_reply = 2000;
    spec.cookie = 5;
    const std::uint32_t xid = requester->call(spec, now).value();
    channel->flush(now);
    return xid;
  }
  static Buffer reply_to(std::uint32_t xid, std::uint32_t credits = 32) {
    wire::Header h;
    h.xid = xid;
    h.credit = credits;
    return encode(h, words({xid, 1, 0, 0}));
  }
  // The chunks that a Reply returns for a Call with chunks, all empty.
  static OpenHeader return_of(const Buffer& call) {
    OpenHeader o = open(call);
    o.header.proc = wire::Proc::kMsg;
    o.reads.clear();
    for (auto& chunk : o.writes) {
      for (wire::Segment& s : chunk) s.length = 0;
    }
    o.reply.reset();
    return o;
  }
  // Calls sent whose Sends have not been checked.
  std::size_t sends() {
    return static_cast<std::size_t>(
        std::count_if(fabric.posted.begin(), fabric.posted.end(),
                      [](const auto& p) { return p.operation == fabric::Operation::kSend; }));
  }

  std::optional<Requester> requester;
  std::vector<Emitted> emitted;
  std::function<void()> then;
  Buffer small = words({0xdead, 0, 2, 3, 4, 5});
  Buffer memory_bytes;
  fabric::Memory memory;
};

constexpr ChannelOptions kSmallSegments{.max_segment = 1000};

TEST_F(RequesterTest, ASendThatTheFabricCopiesNeedsNoCompletion) {
  fabric.copied_send = 256;
  make({.credits = 2});
  const std::uint32_t xid = call();
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_FALSE(fabric.posted[0].signaled);
  now += 5;
  arrive(reply_to(xid));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  // When its Send arrived is not known.
  EXPECT_EQ(emitted[0].times.arrived, 0);
  EXPECT_EQ(emitted[0].times.replied, now);
  // Neither slots nor memory are used up.
  for (int i = 0; i < 100; ++i) arrive(reply_to(call()));
  EXPECT_EQ(emitted.size(), 101U);
}

TEST_F(RequesterTest, ASendThatTheFabricHasNotTakenKeepsItsMemory) {
  fabric.copied_send = 256;
  fabric.send_room = 0;
  make({.credits = 2});
  call(1, 10);
  call(2);
  now += 10;
  channel->expire(now);
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].reason, "it was not sent in time");
  fabric.send_room = SIZE_MAX;
  channel->flush(now);
  EXPECT_EQ(sends(), 1U);
}

TEST_F(RequesterTest, ALongerSendHasACompletion) {
  fabric.copied_send = 40;
  make({.credits = 2});
  call();
  ASSERT_EQ(fabric.posted.size(), 1U);
  EXPECT_TRUE(fabric.posted[0].signaled);
}

TEST_F(RequesterTest, AnInlineCallAndItsReply) {
  make({.credits = 8, .first_xid = 77});
  EXPECT_EQ(call(3), 77U);
  ASSERT_EQ(sends(), 1U);
  const OpenHeader sent_header = open(sent());
  EXPECT_EQ(sent_header.header.xid, 77U);
  EXPECT_EQ(sent_header.header.vers, 1U);
  EXPECT_EQ(sent_header.header.credit, 8U);
  EXPECT_EQ(sent_header.header.proc, wire::Proc::kMsg);
  EXPECT_EQ(testing::payload_of(sent()), words({77, 0, 2, 3, 4, 5}));
  EXPECT_EQ(requester->outstanding(), 1U);
  now = 2000;
  arrive(reply_to(77));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].cookie, 3U);
  EXPECT_EQ(emitted[0].xid, 77U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  EXPECT_EQ(emitted[0].reply, words({77, 1, 0, 0}));
  EXPECT_EQ(emitted[0].attempts, 1U);
  EXPECT_EQ(emitted[0].times.called, 1000);
  EXPECT_EQ(emitted[0].times.sent, 1000);
  EXPECT_EQ(emitted[0].times.replied, 2000);
  EXPECT_EQ(emitted[0].times.ended, 2000);
  EXPECT_EQ(requester->outstanding(), 0U);
  EXPECT_TRUE(fabric.posted[0].signaled);
}

TEST_F(RequesterTest, OneCallUntilTheFirstReplyThenWhatIsGranted) {
  make({.credits = 8});
  std::vector<std::uint32_t> xids;
  for (int i = 0; i < 20; ++i) xids.push_back(call());
  EXPECT_EQ(sends(), 1U);
  EXPECT_EQ(requester->credit_limit(), 1U);
  EXPECT_EQ(requester->credits_in_use(), 1U);
  arrive(reply_to(xids[0], 3));
  EXPECT_EQ(sends(), 1U + 3);
  EXPECT_EQ(requester->credits_in_use(), 3U);
  EXPECT_EQ(requester->credit_limit(), 3U);
  EXPECT_EQ(requester->outstanding(), 3U);
  // Up, above its own.
  arrive(reply_to(xids[1], 100));
  EXPECT_EQ(requester->granted(), 100U);
  EXPECT_EQ(requester->credit_limit(), 8U);
  EXPECT_EQ(requester->outstanding(), 8U);
  // Down: nothing is sent until fewer are in flight than granted.
  for (int i = 2; i < 8; ++i) {
    arrive(reply_to(xids[static_cast<std::size_t>(i)], 2));
    EXPECT_EQ(sends(), 10U);
  }
  EXPECT_EQ(requester->outstanding(), 2U);
  arrive(reply_to(xids[8], 2));
  EXPECT_EQ(sends(), 11U);
  // Zero counts as one.
  arrive(reply_to(xids[9], 0));
  EXPECT_EQ(requester->credit_limit(), 1U);
  EXPECT_EQ(requester->granted(), 0U);
  EXPECT_EQ(sends(), 11U);
  arrive(reply_to(xids[10], 0));
  EXPECT_EQ(sends(), 12U);
  EXPECT_EQ(requester->counters().zero_grants, 2U);
  EXPECT_EQ(requester->counters().stalls, 19U);
}

// The ACK of a Send can arrive long after the Reply.
TEST_F(RequesterTest, ACallWithACreditDoesNotWaitForAcksOfAnsweredOnes) {
  make({.credits = 1});
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint32_t xid = call();
    ASSERT_EQ(sends(), i + 1);
    arrive(reply_to(xid));
    ASSERT_EQ(emitted.size(), i + 1);
    EXPECT_EQ(emitted[i].times.sent, emitted[i].times.called);
  }
  EXPECT_GE(channel->depths().send, sends());
}

TEST_F(RequesterTest, AReceiveForEachThatMayBeAnswered) {
  make({.credits = 8});
  const std::size_t all = fabric.receives.size();
  EXPECT_GE(all, 9U);
  EXPECT_EQ(channel->depths().receive, all);
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t xid = call();
    arrive(reply_to(xid));
    EXPECT_EQ(fabric.receives.size(), all);
    complete_posted();
  }
  // Also while Replies are held until their Calls are fenced.
  call_with_chunks();
  arrive(return_of(sent()).encode(words({requester->counters().calls == 51 ? 51U : 0U, 1, 0, 0})));
  EXPECT_EQ(requester->outstanding(), 1U);
  EXPECT_EQ(fabric.receives.size(), all);
  complete_invalidations();
  EXPECT_EQ(emitted.size(), 51U);
}

TEST_F(RequesterTest, ChunksAreExposedWithTheLeastRights) {
  make({.credits = 8}, kSmallSegments);
  call_with_chunks();
  const OpenHeader h = open(sent());
  // Position: header words, then the count at the end of the preceding piece.
  ASSERT_EQ(h.reads.size(), 2U);
  EXPECT_EQ(h.reads[0].position, small.size());
  EXPECT_EQ(h.reads[1].position, small.size());
  EXPECT_EQ(h.reads[0].target.length, 1000U);
  EXPECT_EQ(h.reads[1].target.length, 1U);
  ASSERT_EQ(h.writes.size(), 2U);
  ASSERT_EQ(h.writes[0].size(), 2U);
  EXPECT_EQ(h.writes[0][1].length, 500U);
  ASSERT_EQ(h.writes[1].size(), 1U);
  ASSERT_TRUE(h.reply);
  EXPECT_EQ(h.reply->size(), 2U);
  EXPECT_EQ(fabric.advertised.size(), 7U);
  const auto check = [&](const wire::Segment& s, fabric::Access access, const std::uint8_t* data) {
    const auto found = fabric.advertised.find(s.handle);
    ASSERT_NE(found, fabric.advertised.end());
    EXPECT_EQ(found->second.access, access);
    EXPECT_EQ(found->second.length, s.length);
    EXPECT_EQ(found->second.offset, s.offset);
    if (data != nullptr) {
      EXPECT_EQ(found->second.data, data);
    }
  };
  check(h.reads[0].target, kRead, &memory_bytes[0]);
  check(h.reads[1].target, kRead, &memory_bytes[1000]);
  check(h.writes[0][0], kWrite, &memory_bytes[2000]);
  check(h.writes[0][1], kWrite, &memory_bytes[3000]);
  check(h.writes[1][0], kWrite, &memory_bytes[4000]);
  check((*h.reply)[0], kWrite, nullptr);
  check((*h.reply)[1], kWrite, nullptr);
  Buffer inline_part = words({h.header.xid, 0, 2, 3, 4, 5});
  inline_part.insert(inline_part.end(), small.begin(), small.end());
  EXPECT_EQ(testing::payload_of(sent()), inline_part);
  EXPECT_EQ(channel->depths().handles, 64U);
}

TEST_F(RequesterTest, WhatIsNotRegisteredIsCopied) {
  make({.credits = 8});
  memory_bytes[0] = 1;
  memory_bytes[1000] = 2;
  call_with_chunks(false);
  const OpenHeader h = open(sent());
  ASSERT_EQ(h.reads.size(), 1U);
  const FakeFabric::Advertised& e = fabric.advertised[h.reads[0].target.handle];
  EXPECT_NE(e.data, &memory_bytes[0]);
  EXPECT_EQ(e.length, 1001U);
  EXPECT_EQ(std::memcmp(e.data, &memory_bytes[0], e.length), 0);
}

TEST_F(RequesterTest, TheOutcomeIsEmittedWhenEveryHandleIsInvalidated) {
  make({.credits = 8}, kSmallSegments);
  const std::uint32_t xid = call_with_chunks();
  OpenHeader h = return_of(sent());
  h.writes[0][0].length = 1000;
  h.writes[0][1].length = 499;
  const Buffer reply = h.encode(words({xid, 1, 8, 9}));
  now = 5000;
  arrive(reply);
  EXPECT_THAT(fabric.advertised, IsEmpty());
  ASSERT_EQ(fabric.invalidated.size(), 7U);
  // A second copy has no effect.
  arrive(reply);
  EXPECT_EQ(requester->counters().unmatched, 1U);
  now = 6000;
  const auto all = std::exchange(fabric.invalidated, {});
  for (const auto& w : all) {
    EXPECT_THAT(emitted, IsEmpty());
    complete(w.id, fabric::Operation::kInvalidate);
  }
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  EXPECT_EQ(emitted[0].reply, words({xid, 1, 8, 9}));
  EXPECT_THAT(emitted[0].result_bytes, ElementsAre(1499U, 0U));
  EXPECT_EQ(emitted[0].times.replied, 5000);
  EXPECT_EQ(emitted[0].times.ended, 6000);
  // A late completion for it has no effect.
  for (const auto& w : all) complete(w.id, fabric::Operation::kInvalidate);
  EXPECT_EQ(failure(), "");
}

TEST_F(RequesterTest, AReplyStaysAsItIsUntilItsOutcomeIsEmitted) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  arrive(return_of(sent()).encode(words({xid, 1, 8, 9})));
  // Every Receive gets something else meanwhile.
  for (std::uint32_t i = 0; i < channel->depths().receive; ++i) arrive(reply_to(99));
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].reply, words({xid, 1, 8, 9}));
}

TEST_F(RequesterTest, AReplyThroughTheReplyChunk) {
  make({.credits = 8}, kSmallSegments);
  const std::uint32_t xid = call_with_chunks();
  OpenHeader h = open(sent());
  const auto offered = *h.reply;
  OpenHeader back = return_of(sent());
  back.header.proc = wire::Proc::kNomsg;
  back.reply = offered;
  (*back.reply)[0].length = 1000;
  (*back.reply)[1].length = 8;
  wire::store_be32(fabric.advertised[offered[0].handle].data, xid);
  wire::store_be32(fabric.advertised[offered[0].handle].data + 4, 1);
  std::memset(fabric.advertised[offered[0].handle].data + 8, 0x31, 992);
  std::memset(fabric.advertised[offered[1].handle].data, 0x32, 8);
  arrive(back.encode());
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied) << emitted[0].reason;
  ASSERT_EQ(emitted[0].reply.size(), 1008U);
  EXPECT_EQ(emitted[0].reply[999], 0x31);
  EXPECT_EQ(emitted[0].reply[1007], 0x32);
}

TEST_F(RequesterTest, WhatThePeerInvalidatedIsNotInvalidatedAgain) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  const OpenHeader h = return_of(sent());
  const std::uint32_t handle = h.writes[0][0].handle;
  arrive(h.encode(words({xid, 1, 0, 0})), handle);
  EXPECT_EQ(fabric.invalidated.size(), 3U);
  for (const auto& w : fabric.invalidated) EXPECT_NE(w.handle, handle);
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(failure(), "");
}

TEST_F(RequesterTest, TheOnlyHandleInvalidatedByThePeer) {
  make({.credits = 8});
  const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                     Piece{{memory_bytes.data(), 5000}, &memory, true}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  const std::uint32_t xid = requester->call(spec, now).value();
  channel->flush(now);
  arrive(reply_to(xid), open(sent()).reads[0].target.handle);
  EXPECT_THAT(fabric.invalidated, IsEmpty());
  EXPECT_EQ(emitted.size(), 1U);
}

TEST_F(RequesterTest, AnothersHandleInvalidatedByThePeerEndsTheConnection) {
  make({.credits = 8});
  const std::uint32_t first = call();
  arrive(reply_to(first));
  const std::uint32_t a = call_with_chunks();
  const OpenHeader of_a = return_of(sent());
  call_with_chunks();
  const OpenHeader of_b = return_of(sent());
  arrive(of_a.encode(words({a, 1, 0, 0})), of_b.writes[0][0].handle);
  EXPECT_THAT(failure(), HasSubstr("invalidated"));
  EXPECT_EQ(emitted.size(), 1U);
  EXPECT_THAT(fabric.invalidated, IsEmpty());
}

TEST_F(RequesterTest, AnInvalidationByAMessageThatNobodyWaitsForEndsTheConnection) {
  for (const bool is_short : {true, false}) {
    make({.credits = 8});
    call_with_chunks();
    const std::uint32_t handle = open(sent()).writes[0][0].handle;
    arrive(is_short ? words({1, 1}) : reply_to(99), handle);
    EXPECT_THAT(failure(), HasSubstr("invalidated"));
    channel.reset();
  }
}

TEST_F(RequesterTest, MessagesThatNobodyWaitsForAreCounted) {
  make({.credits = 8});
  arrive(reply_to(99));
  arrive({});
  arrive(words({1, 1, 1}));
  const std::uint32_t xid = call();
  arrive(reply_to(xid + 1));
  // A Call from the peer with the XID of one of ours.
  wire::Header h;
  h.xid = xid;
  arrive(encode(h, words({xid, 0, 2, 0})));
  EXPECT_EQ(requester->counters().unmatched, 2U);
  EXPECT_EQ(requester->counters().malformed, 3U);
  EXPECT_THAT(emitted, IsEmpty());
  arrive(reply_to(xid));
  EXPECT_EQ(emitted.size(), 1U);
  EXPECT_EQ(failure(), "");
}

TEST_F(RequesterTest, AReplyToWhatHasNotBeenSentIsNobodys) {
  make({.credits = 8});
  call();
  const std::uint32_t second = call();
  arrive(reply_to(second));
  EXPECT_THAT(emitted, IsEmpty());
  EXPECT_EQ(requester->counters().unmatched, 1U);
}

struct HostileReply {
  const char* name;
  void (*change)(OpenHeader&, Buffer& payload);
  const char* reason;
};

void PrintTo(const HostileReply& h, std::ostream* out) {
  *out << h.name;
}

class HostileReplyTest : public RequesterTest,
                         public ::testing::WithParamInterface<HostileReply> {};

// Each violates one rule; the Call ends, and none of its memory stays accessible.
TEST_P(HostileReplyTest, EndsItsCallAlone) {
  make({.credits = 8}, kSmallSegments);
  const std::uint32_t xid = call_with_chunks();
  OpenHeader h = return_of(sent());
  h.reply = open(sent()).reply;
  for (wire::Segment& s : *h.reply) {
    wire::store_be32(fabric.advertised[s.handle].data, xid);
    wire::store_be32(fabric.advertised[s.handle].data + 4, 1);
    s.length = 0;
  }
  Buffer payload = words({xid, 1, 0, 0});
  GetParam().change(h, payload);
  arrive(h.encode(payload));
  EXPECT_THAT(fabric.advertised, IsEmpty());
  EXPECT_THAT(emitted, IsEmpty());
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kBadReply);
  EXPECT_THAT(emitted[0].reason, HasSubstr(GetParam().reason));
  EXPECT_EQ(requester->credit_limit(), 1U);  // its other fields are not used either
  EXPECT_EQ(failure(), "");
  // And the next one can be answered.
  const std::uint32_t next = call();
  arrive(reply_to(next));
  EXPECT_EQ(emitted.back().status, CallStatus::kReplied);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileReplyTest,
    ::testing::Values(
        HostileReply{"ReadList",
                     [](OpenHeader& h, Buffer&) {
                       h.reads.push_back({0, {1, 2, 3}});
                     },
                     "Read list"},
        HostileReply{"Version2",
                     [](OpenHeader& h, Buffer&) {
                       h.header.vers = 2;
                       h.header.direction = wire::MsgType::kReply;
                     },
                     "rdma_vers"},
        HostileReply{"Msgp", [](OpenHeader& h, Buffer&) { h.header.proc = wire::Proc::kMsgp; },
                     "neither RDMA_MSG"},
        HostileReply{"Done", [](OpenHeader& h, Buffer&) { h.header.proc = wire::Proc::kDone; },
                     "neither RDMA_MSG"},
        HostileReply{"NoWriteList", [](OpenHeader& h, Buffer&) { h.writes.clear(); },
                     "number of chunks"},
        HostileReply{"OneWriteChunkLess", [](OpenHeader& h, Buffer&) { h.writes.pop_back(); },
                     "number of chunks"},
        HostileReply{"OneWriteChunkMore",
                     [](OpenHeader& h, Buffer&) {
                       h.writes.push_back({{1, 0, 0}});
                     },
                     "number of chunks"},
        HostileReply{"OneSegmentLess", [](OpenHeader& h, Buffer&) { h.writes[0].pop_back(); },
                     "number of segments"},
        HostileReply{"OneSegmentMore",
                     [](OpenHeader& h, Buffer&) {
                       h.writes[1].push_back({1, 0, 0});
                     },
                     "number of segments"},
        HostileReply{"OtherHandle", [](OpenHeader& h, Buffer&) { ++h.writes[1][0].handle; },
                     "another handle"},
        HostileReply{"OtherOffset", [](OpenHeader& h, Buffer&) { ++h.writes[1][0].offset; },
                     "another offset"},
        HostileReply{"LongerThanOffered",
                     [](OpenHeader& h, Buffer&) { h.writes[1][0].length = 101; }, "longer than"},
        HostileReply{"Gap", [](OpenHeader& h, Buffer&) { h.writes[0][1].length = 1; }, "gap"},
        HostileReply{"GapBehindAPart",
                     [](OpenHeader& h, Buffer&) {
                       h.writes[0][0].length = 999;
                       h.writes[0][1].length = 1;
                     },
                     "gap"},
        HostileReply{"ReplyChunkWithRdmaMsg",
                     [](OpenHeader& h, Buffer&) { (*h.reply)[0].length = 8; },
                     "Reply chunk as written"},
        HostileReply{"ReplyChunkOtherHandle",
                     [](OpenHeader& h, Buffer&) { ++(*h.reply)[1].handle; }, "another handle"},
        HostileReply{"ReplyChunkOtherShape", [](OpenHeader& h, Buffer&) { h.reply->pop_back(); },
                     "number of segments"},
        HostileReply{"ReplyChunkTooLong",
                     [](OpenHeader& h, Buffer&) {
                       h.header.proc = wire::Proc::kNomsg;
                       (*h.reply)[0].length = 1001;
                     },
                     "longer than"},
        HostileReply{"ReplyChunkGap",
                     [](OpenHeader& h, Buffer&) {
                       h.header.proc = wire::Proc::kNomsg;
                       (*h.reply)[1].length = 8;
                     },
                     "gap"},
        HostileReply{"NomsgWithAnEmptyReplyChunk",
                     [](OpenHeader& h, Buffer&) { h.header.proc = wire::Proc::kNomsg; },
                     "nothing in a Reply chunk"},
        HostileReply{"NomsgWithoutReplyChunk",
                     [](OpenHeader& h, Buffer&) {
                       h.header.proc = wire::Proc::kNomsg;
                       h.reply.reset();
                     },
                     "nothing in a Reply chunk"},
        HostileReply{"NomsgTooShortForAReply",
                     [](OpenHeader& h, Buffer&) {
                       h.header.proc = wire::Proc::kNomsg;
                       (*h.reply)[0].length = 4;
                     },
                     "ends before"},
        HostileReply{"OtherXid", [](OpenHeader&, Buffer& p) { ++p[3]; }, "another XID"},
        HostileReply{"NothingBehindTheHeader", [](OpenHeader&, Buffer& p) { p.clear(); },
                     "ends before"},
        HostileReply{"HalfAWord", [](OpenHeader&, Buffer& p) { p.resize(7); }, "ends before"},
        HostileReply{"NoMessageType", [](OpenHeader&, Buffer& p) { p[7] = 2; }, "msg_type"}),
    [](const auto& test) { return test.param.name; });

TEST_F(RequesterTest, ACutHeaderEndsItsCall) {
  make({.credits = 8}, kSmallSegments);
  call_with_chunks();
  Buffer cut = return_of(sent()).encode();
  cut.resize(cut.size() - 5);
  arrive(cut);
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kBadReply);
}

TEST_F(RequesterTest, AReplyChunkThatWasNotOffered) {
  make({.credits = 8});
  const std::uint32_t xid = call();
  OpenHeader h;
  h.header.xid = xid;
  h.header.credit = 8;
  h.reply.emplace();
  arrive(h.encode(words({xid, 1, 0, 0})));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_THAT(emitted[0].reason, HasSubstr("not offered"));
}

TEST_F(RequesterTest, AnUnusedReplyChunkMayComeBackEmpty) {
  make({.credits = 8}, kSmallSegments);
  const std::uint32_t xid = call_with_chunks();
  OpenHeader h = return_of(sent());
  h.reply = open(sent()).reply;
  for (wire::Segment& s : *h.reply) s.length = 0;
  arrive(h.encode(words({xid, 1, 0, 0})));
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
}

TEST_F(RequesterTest, ErrorsEndTheCall) {
  make({.credits = 8});
  wire::Header h;
  h.proc = wire::Proc::kError;
  h.credit = 8;
  h.error = wire::RdmaErr::kChunk;
  h.xid = call_with_chunks();
  arrive(encode(h));
  EXPECT_THAT(emitted, IsEmpty());
  complete_invalidations();
  // It contradicts itself: it refuses version 1 and offers it.
  h.error = wire::RdmaErr::kVers;
  h.vers_low = 0;
  h.vers_high = 4;
  h.xid = call();
  arrive(encode(h));
  // In a version of its own.
  h.xid = call();
  Buffer later = encode(h);
  later[7] = 9;
  arrive(later);
  ASSERT_EQ(emitted.size(), 3U);
  EXPECT_EQ(emitted[0].status, CallStatus::kErrorChunk);
  EXPECT_EQ(emitted[1].status, CallStatus::kErrorVersion);
  EXPECT_EQ(emitted[1].vers_low, 0U);
  EXPECT_EQ(emitted[1].vers_high, 4U);
  EXPECT_EQ(emitted[2].status, CallStatus::kErrorVersion);
  EXPECT_EQ(requester->counters().error_chunk, 1U);
  EXPECT_EQ(requester->counters().error_version, 2U);
  EXPECT_EQ(requester->credit_limit(), 1U);  // whose direction is unknown
  // Truncated, it is not an ERR_VERS.
  h.xid = call();
  Buffer cut = encode(h);
  cut.resize(24);
  arrive(cut);
  EXPECT_EQ(emitted.back().status, CallStatus::kBadReply);
}

TEST_F(RequesterTest, APeerThatSpeaksNoneOfOurVersionsEndsTheConnection) {
  make({.credits = 8});
  wire::Header h;
  h.proc = wire::Proc::kError;
  h.credit = 8;
  h.error = wire::RdmaErr::kVers;
  h.vers_low = 2;
  h.vers_high = 4;
  h.xid = call();
  EXPECT_FALSE(channel->refused());
  arrive(encode(h));
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kErrorVersion);
  EXPECT_EQ(failure(), "the peer supports none of our versions");
  EXPECT_EQ(channel->refused(), (Versions{2, 4}));
  // A Call made now waits, and has the same outcome.
  call();
  channel.reset();
  requester->refuse({2, 4}, now);
  ASSERT_EQ(emitted.size(), 2U);
  EXPECT_EQ(emitted[1].status, CallStatus::kErrorVersion);
  EXPECT_EQ(emitted[1].vers_low, 2U);
  EXPECT_EQ(emitted[1].vers_high, 4U);
}

TEST_F(RequesterTest, ASentCallThatTimesOutEndsTheConnection) {
  make({.credits = 8});
  const std::uint32_t first = call(1);
  arrive(reply_to(first));
  emitted.clear();
  const std::uint32_t lost = call(2, 500);
  const std::uint32_t other = call(3, 5000);
  EXPECT_EQ(requester->deadline(), 1500);
  EXPECT_EQ(channel->deadline(), 1500);
  now = 1499;
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  now = 1500;
  channel->expire(now);
  EXPECT_THAT(failure(), HasSubstr("timed out"));
  EXPECT_EQ(channel->deadline(), 6000);
  // A late Reply may still be on its way into its memory.
  EXPECT_THAT(emitted, IsEmpty());
  arrive(reply_to(lost));
  EXPECT_THAT(emitted, IsEmpty());
  now = 1600;
  disconnect();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].cookie, 2U);
  EXPECT_EQ(emitted[0].status, CallStatus::kTimedOut);
  EXPECT_EQ(emitted[0].times.ended, 1600);
  // The other is resent with its XID.
  EXPECT_EQ(requester->waiting(), 1U);
  start_again();
  ASSERT_EQ(sends(), 1U);
  EXPECT_EQ(open(sent()).header.xid, other);
  arrive(reply_to(other));
  EXPECT_EQ(emitted.back().status, CallStatus::kReplied);
  EXPECT_EQ(emitted.back().attempts, 2U);
  EXPECT_EQ(requester->counters().resent, 1U);
  EXPECT_EQ(requester->counters().timeouts, 1U);
}

TEST_F(RequesterTest, AWaitingCallThatTimesOutDoesNoHarm) {
  make({.credits = 8});
  call(1);
  call(2, 500);
  now = 1500;
  channel->expire(now);
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].cookie, 2U);
  EXPECT_EQ(emitted[0].status, CallStatus::kTimedOut);
  EXPECT_EQ(emitted[0].attempts, 0U);
  EXPECT_EQ(failure(), "");
}

TEST_F(RequesterTest, CallsWaitForAConnectionAndTimeOutWithoutOne) {
  make({.credits = 8});
  disconnect();
  call(1);
  call(2, 100);
  EXPECT_EQ(requester->waiting(), 2U);
  now = 1100;
  requester->expire(now);
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].cookie, 2U);
  start_again();
  EXPECT_EQ(sends(), 1U);
}

TEST_F(RequesterTest, ACallWhoseConnectionsEndedSaysThatItWasSent) {
  make({.credits = 8});
  call(1, 500);
  disconnect();
  start_again();
  ASSERT_EQ(sends(), 1U);
  disconnect();
  now += 500;
  requester->expire(now);
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kTimedOut);
  EXPECT_EQ(emitted[0].reason, "its connection ended before the Reply arrived");
  EXPECT_EQ(emitted[0].attempts, 2U);
  EXPECT_TRUE(emitted[0].lost);
}

TEST_F(RequesterTest, AReplyEndsAllTimeOuts) {
  make({.credits = 8});
  arrive(reply_to(call(1, 500)));
  now = 5000;
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(channel->deadline(), fabric::kNever);
}

TEST_F(RequesterTest, AfterALostConnectionCallsGoAgainInOrderAndCreditsBeginAgain) {
  make({.credits = 8});
  std::vector<std::uint32_t> xids;
  for (std::uint64_t i = 0; i < 10; ++i) xids.push_back(call(i));
  arrive(reply_to(xids[0], 4));
  EXPECT_EQ(requester->outstanding(), 4U);
  // The second has its Reply, but is not fenced yet when the connection ends.
  disconnect();
  EXPECT_EQ(requester->outstanding(), 0U);
  EXPECT_EQ(requester->waiting(), 9U);
  start_again();
  EXPECT_EQ(requester->credit_limit(), 1U);
  for (std::size_t i = 1; i < 10; ++i) {
    ASSERT_EQ(sends(), i);
    EXPECT_EQ(open(sent()).header.xid, xids[i]);
    arrive(reply_to(xids[i], 1));
  }
  ASSERT_EQ(emitted.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(emitted[i].cookie, i);
    EXPECT_EQ(emitted[i].attempts, i >= 1 && i < 5 ? 2U : 1U);
  }
}

TEST_F(RequesterTest, WhatWasAnsweredButNotFencedEndsWithTheConnection) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  arrive(return_of(sent()).encode(words({xid, 1, 6, 7})));
  EXPECT_THAT(emitted, IsEmpty());
  disconnect();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kReplied);
  EXPECT_EQ(emitted[0].reply, words({xid, 1, 6, 7}));
}

TEST_F(RequesterTest, ThresholdsAreThoseOfTheConnection) {
  make({.credits = 8}, options_with(4096));
  const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                     Piece{{memory_bytes.data(), 2000}, &memory, true}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  const std::uint32_t xid = requester->call(spec, now).value();
  channel->flush(now);
  EXPECT_THAT(open(sent()).reads, IsEmpty());
  start_again(options_with(1024));
  EXPECT_EQ(open(sent()).reads.size(), 1U);
  EXPECT_EQ(open(sent()).header.xid, xid);
}

TEST_F(RequesterTest, CloseEndsAll) {
  make({.credits = 8});
  arrive(reply_to(call(1)));
  call_with_chunks();
  call(3);
  for (std::uint64_t i = 0; i < 10; ++i) call(10 + i);
  emitted.clear();
  const Buffer late = return_of(fabric.posted[1].bytes).encode(words({2, 1, 0, 0}));
  requester->close(now);
  // Calls that were not sent, and Calls that were sent without memory.
  EXPECT_EQ(emitted.size(), 11U);
  channel->flush(now);
  arrive(late);
  EXPECT_EQ(requester->counters().unmatched, 1U);
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 12U);
  EXPECT_EQ(emitted.back().cookie, 5U);
  for (const Emitted& t : emitted) EXPECT_EQ(t.status, CallStatus::kClosed);
  const std::array<Piece, 1> message{Piece{small, nullptr, false}};
  CallSpec spec;
  spec.message = message;
  EXPECT_EQ(requester->call(spec, now).error().code, fabric::Errc::kNotConnected);
}

TEST_F(RequesterTest, CallsThatCannotBeMade) {
  make({.credits = 8, .max_calls = 2});
  CallSpec spec;
  const auto error = [&](std::vector<Piece> message) {
    spec.message = message;
    return requester->call(spec, now).error().code;
  };
  const Piece good{small, nullptr, false};
  EXPECT_EQ(error({}), fabric::Errc::kBadArgument);
  EXPECT_EQ(error({Piece{wire::Bytes(small).first(3), nullptr, false}}),
            fabric::Errc::kBadArgument);
  EXPECT_EQ(error({Piece{small, nullptr, true}}), fabric::Errc::kBadArgument);
  EXPECT_EQ(error(std::vector<Piece>(9, good)), fabric::Errc::kBadArgument);
  call();
  call();
  EXPECT_EQ(error({good}), fabric::Errc::kNoRoom);
  const std::array<ResultSpace, 5> results{};
  spec.results = results;
  EXPECT_EQ(error({good}), fabric::Errc::kBadArgument);
}

TEST_F(RequesterTest, XidsAreNotUsedTwiceAtATime) {
  make({.credits = 8, .max_calls = 4, .first_xid = 0xfffffffe});
  const std::uint32_t slow = call();
  EXPECT_EQ(slow, 0xfffffffeU);
  EXPECT_EQ(call(), 0xffffffffU);
  EXPECT_EQ(call(), 0U);
  EXPECT_EQ(call(), 1U);
}

TEST_F(RequesterTest, AMessageThatDoesNotFitEndsWithAReason) {
  make({.credits = 8}, options_with(1024, 10));  // a hundred segments
  call_with_chunks();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCannotSend);
  EXPECT_NE(emitted[0].reason, "");
  EXPECT_EQ(emitted[0].attempts, 0U);
  EXPECT_THAT(fabric.posted, IsEmpty());
  EXPECT_THAT(fabric.advertised, IsEmpty());
}

TEST_F(RequesterTest, WorkWaitsForRoomInTheSendQueue) {
  make({.credits = 8});
  arrive(reply_to(call()));
  fabric.send_room = 0;
  const std::uint32_t xid = call();
  call();
  EXPECT_EQ(sends(), 1U);
  fabric.send_room = 1;
  channel->flush(now);
  EXPECT_EQ(sends(), 2U);
  EXPECT_EQ(open(sent()).header.xid, xid);
  fabric.send_room = 5;
  channel->flush(now);
  EXPECT_EQ(sends(), 3U);
  EXPECT_EQ(failure(), "");
}

// Some of those that wait for room are in the next batch, others after it.
TEST_F(RequesterTest, WhatIsClosedBeforeItWasPostedIsNotSent) {
  make({.credits = 40});
  arrive(reply_to(call(), 40));
  complete_posted();
  fabric.send_room = 1;
  const std::uint32_t posted = call_unflushed(1);
  for (std::uint64_t i = 0; i < 12; ++i) call_unflushed(100 + i);
  call_with_chunks();
  for (std::uint64_t i = 0; i < 18; ++i) call_unflushed(200 + i);
  call_with_chunks();
  emitted.clear();
  requester->close(now);
  // All but those whose memory the peer could access if it knew of it.
  EXPECT_EQ(emitted.size(), 31U);
  fabric.send_room = SIZE_MAX;
  channel->flush(now);
  EXPECT_EQ(sends(), 1U);
  EXPECT_EQ(open(sent()).header.xid, posted);
  EXPECT_THAT(fabric.advertised, IsEmpty());
  complete_invalidations();
  EXPECT_EQ(emitted.size(), 33U);
  for (const Emitted& t : emitted) {
    EXPECT_EQ(t.status, CallStatus::kClosed);
    EXPECT_EQ(t.attempts, t.xid == posted ? 1U : 0U);
    EXPECT_EQ(t.times.sent, t.xid == posted ? now : 0);
  }
  EXPECT_EQ(requester->outstanding(), 0U);
  complete_posted();
}

TEST_F(RequesterTest, WhatTimesOutBeforeItWasPostedIsNotSentAndDoesNoHarm) {
  make({.credits = 40});
  arrive(reply_to(call(), 40));
  complete_posted();
  const std::uint64_t idle = pool.in_use();
  fabric.send_room = 0;
  std::vector<std::uint32_t> others;
  for (int i = 0; i < 30; ++i) {
    const std::uint32_t xid = call_unflushed(7, i % 3 == 1 ? 500 : fabric::kNever);
    if (i % 3 != 1) others.push_back(xid);
  }
  channel->flush(now);
  emitted.clear();
  now += 500;
  channel->expire(now);
  EXPECT_EQ(failure(), "");
  EXPECT_EQ(requester->outstanding(), 20U);
  ASSERT_EQ(emitted.size(), 10U);
  for (const Emitted& t : emitted) {
    EXPECT_EQ(t.status, CallStatus::kTimedOut);
    EXPECT_EQ(t.reason, "it was not sent in time");
    EXPECT_EQ(t.attempts, 0U);
  }
  fabric.send_room = SIZE_MAX;
  channel->flush(now);
  std::vector<std::uint32_t> went;
  for (const auto& p : fabric.posted) {
    went.push_back(open(p.bytes).header.xid);
    EXPECT_EQ(testing::payload_of(p.bytes), words({went.back(), 0, 2, 3, 4, 5}));
  }
  EXPECT_EQ(went, others);
  // All slots are free again.
  complete_posted();
  for (const std::uint32_t xid : others) arrive(reply_to(xid, 40));
  EXPECT_EQ(pool.in_use(), idle);
  for (int i = 0; i < 40; ++i) call();
  EXPECT_EQ(sends(), 40U);
}

TEST_F(RequesterTest, WhatIsClosedBeforeItWasPostedAgainWasSentOnce) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  fabric.send_room = 0;
  start_again();
  EXPECT_THAT(fabric.posted, IsEmpty());
  EXPECT_EQ(requester->counters().resent, 1U);
  requester->close(now);
  channel->flush(now);
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].xid, xid);
  EXPECT_EQ(emitted[0].attempts, 1U);
  EXPECT_EQ(requester->counters().resent, 0U);
}

TEST_F(RequesterTest, AReplyToWhatWasNotPostedIsNobodys) {
  make({.credits = 8});
  arrive(reply_to(call()));
  complete_posted();
  fabric.send_room = 0;
  const std::uint32_t xid = call();
  emitted.clear();
  arrive(reply_to(xid));
  EXPECT_THAT(emitted, IsEmpty());
  EXPECT_EQ(requester->counters().unmatched, 1U);
  fabric.send_room = 1;
  channel->flush(now);
  EXPECT_EQ(open(sent()).header.xid, xid);
  arrive(reply_to(xid));
  EXPECT_EQ(emitted.size(), 1U);
}

TEST_F(RequesterTest, WithdrawalsWaitForRoomToo) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  fabric.refuse_invalidate = fabric::Errc::kNoRoom;
  arrive(return_of(sent()).encode(words({xid, 1, 0, 0})));
  EXPECT_THAT(fabric.invalidated, IsEmpty());
  fabric.refuse_invalidate.reset();
  channel->flush(now);
  complete_invalidations();
  EXPECT_EQ(emitted.size(), 1U);
}

TEST_F(RequesterTest, ACallWaitsForHandles) {
  make({.credits = 16}, options_with(2048, 64));
  arrive(reply_to(call()));
  // 40 segments each, of 64 that may be valid at a time.
  const auto big_call = [&] {
    const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                       Piece{{memory_bytes.data(), 2560}, &memory, true}};
    CallSpec spec;
    spec.message = message;
    spec.max_reply = 100;
    const std::uint32_t xid = requester->call(spec, now).value();
    channel->flush(now);
    return xid;
  };
  const std::uint32_t one = big_call();
  const std::uint32_t two = big_call();
  EXPECT_EQ(open(sent()).header.xid, one);
  arrive(reply_to(one));
  EXPECT_EQ(open(sent()).header.xid, one);
  complete_invalidations();
  EXPECT_EQ(open(sent()).header.xid, two);
  EXPECT_EQ(fabric.advertised.size(), 40U);
}

TEST_F(RequesterTest, MemoryThatCannotBeExposedEndsTheCall) {
  make({.credits = 8});
  fabric.refuse_advertise = fabric::Errc::kNoRoom;
  fabric.advertise_room = 2;
  call_with_chunks();
  EXPECT_THAT(fabric.posted, IsEmpty());
  channel->flush(now);
  EXPECT_EQ(fabric.invalidated.size(), 2U);
  EXPECT_THAT(emitted, IsEmpty());
  complete_invalidations();
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_EQ(emitted[0].status, CallStatus::kCannotSend);
  fabric.advertise_room = SIZE_MAX;
  arrive(reply_to(call()));
  EXPECT_EQ(emitted.back().status, CallStatus::kReplied);
}

TEST_F(RequesterTest, AConnectionLostWhileExposing) {
  make({.credits = 8});
  fabric.refuse_advertise = fabric::Errc::kNotConnected;
  fabric.advertise_room = 2;
  call_with_chunks();
  EXPECT_THAT(emitted, IsEmpty());
  disconnect();
  EXPECT_THAT(emitted, IsEmpty());
  EXPECT_EQ(requester->waiting(), 1U);
  fabric.advertise_room = SIZE_MAX;
  start_again();
  EXPECT_EQ(sends(), 1U);
}

TEST_F(RequesterTest, TheReplyMayComeBeforeItsSendIsComplete) {
  make({.credits = 2});
  arrive(reply_to(call()));
  // As many as there are slots; then the next waits for a Send.
  std::vector<std::uint32_t> xids;
  for (int i = 0; i < 4; ++i) {
    const std::size_t before = sends();
    const std::uint32_t xid = call();
    if (sends() == before) {
      EXPECT_EQ(i, 3);
      complete(fabric.posted[0].id, fabric::Operation::kSend);
    }
    EXPECT_EQ(sends(), before + 1);
    arrive(reply_to(xid));
  }
  EXPECT_EQ(emitted.size(), 5U);
}

TEST_F(RequesterTest, WhenACallArrivedIsThatOfItsLastSend) {
  make({.credits = 8});
  const std::uint32_t xid = call();
  now = 1100;
  complete_posted();
  disconnect();
  now = 1200;
  start_again();
  arrive_unflushed(reply_to(xid));
  EXPECT_EQ(emitted.at(0).times.sent, 1200);
  EXPECT_EQ(emitted[0].times.arrived, 0);
  complete_posted();
  // After the Reply, while its memory is fenced.
  const std::uint32_t chunks = call_with_chunks();
  now = 1300;
  arrive(return_of(sent()).encode(words({chunks, 1, 0, 0})));
  now = 1400;
  complete_posted();
  complete_invalidations();
  EXPECT_EQ(emitted.at(1).times.replied, 1300);
  EXPECT_EQ(emitted[1].times.arrived, 1400);
  // The usual order.
  const std::uint32_t last = call();
  now = 1500;
  complete_posted();
  now = 1600;
  arrive(reply_to(last));
  EXPECT_EQ(emitted.at(2).times.arrived, 1500);
  EXPECT_EQ(emitted[2].times.replied, 1600);
}

TEST_F(RequesterTest, WhatEndsTheConnection) {
  using fabric::Operation;
  using fabric::Status;
  const std::vector<std::function<void()>> ends{
      [&] { complete(fabric.posted[0].id, Operation::kSend, Status::kRetriesExceeded); },
      [&] {
        fabric::Completion c;
        c.id = fabric.receives.front().id;
        c.operation = Operation::kReceive;
        c.has_immediate = true;
        channel->completed(c, now);
      },
      [&] {
        fabric::Completion c;
        c.id = fabric.receives.front().id;
        c.operation = Operation::kReceive;
        c.bytes = 100'000;
        channel->completed(c, now);
      },
      [&] {
        fabric.refuse_send = fabric::Errc::kBadArgument;
        arrive(reply_to(1, 8));
        call();
      },
      [&] {
        fabric.refuse_receive = fabric::Errc::kNoRoom;
        arrive(reply_to(1, 8));
      },
  };
  for (const auto& end : ends) {
    make({.credits = 8});
    call();
    call();
    EXPECT_EQ(failure(), "");
    end();
    EXPECT_NE(failure(), "");
    const std::size_t before = fabric.posted.size();
    fabric.refuse_send.reset();
    fabric.refuse_receive.reset();
    call();
    EXPECT_EQ(fabric.posted.size(), before);
    disconnect();
    channel.reset();
  }
}

TEST_F(RequesterTest, WhatSucceedsIsASignOfLifeAndAProbeAsksForOne) {
  make({.credits = 8});
  EXPECT_EQ(channel->heard(), 1000);
  now = 2000;
  const std::uint32_t xid = call();
  EXPECT_EQ(channel->heard(), 1000);
  complete(fabric.posted[0].id, fabric::Operation::kSend);
  EXPECT_EQ(channel->heard(), 2000);
  now = 3000;
  arrive(reply_to(xid));
  EXPECT_EQ(channel->heard(), 3000);
  channel->probe(now);
  ASSERT_EQ(fabric.posted.size(), 2U);
  EXPECT_EQ(fabric.posted[1].operation, fabric::Operation::kWrite);
  EXPECT_THAT(fabric.posted[1].bytes, IsEmpty());
  EXPECT_TRUE(fabric.posted[1].signaled);
  now = 4000;
  complete(fabric.posted[1].id, fabric::Operation::kWrite);
  EXPECT_EQ(channel->heard(), 4000);
  now = 5000;
  complete(fabric.posted[1].id, fabric::Operation::kWrite, fabric::Status::kRetriesExceeded);
  EXPECT_EQ(channel->heard(), 4000);
  // It was no Write of a Call.
  EXPECT_THAT(failure(), HasSubstr("the peer does not answer: "));
}

TEST_F(RequesterTest, FlushedWorkIsNotAFailureButTheEnd) {
  make({.credits = 8});
  call();
  complete(fabric.posted[0].id, fabric::Operation::kSend, fabric::Status::kFlushed);
  EXPECT_EQ(failure(), "");
  disconnect();
  EXPECT_EQ(requester->waiting(), 1U);
  // It has no further effect.
  complete(fabric.posted[0].id, fabric::Operation::kSend);
  channel->flush(now);
}

TEST_F(RequesterTest, CompletionsOfNothingAreIgnored) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  const std::uint64_t send = fabric.posted[0].id;
  complete(send, fabric::Operation::kSend);
  arrive(return_of(sent()).encode(words({xid, 1, 0, 0})));
  complete_invalidations();
  EXPECT_EQ(emitted.size(), 1U);
  for (const std::uint64_t id :
       {send, send + 1, ~std::uint64_t{0}, std::uint64_t{0}, send ^ (std::uint64_t{1} << 56U),
        send ^ (std::uint64_t{9} << 32U)}) {
    complete(id, fabric::Operation::kSend);
    complete(id, fabric::Operation::kReceive);
  }
  EXPECT_EQ(failure(), "");
  arrive(reply_to(call()));
  EXPECT_EQ(emitted.size(), 2U);
}

TEST_F(RequesterTest, ACallFromWithinAnOutcome) {
  make({.credits = 2, .max_calls = 3});
  int left = 10;
  then = [&] {
    if (left-- > 0) call(100);
  };
  std::uint32_t xid = call();
  for (int i = 0; i < 11; ++i) {
    arrive(reply_to(xid++));
    complete_posted();
  }
  EXPECT_EQ(emitted.size(), 11U);
  EXPECT_EQ(requester->waiting() + requester->outstanding(), 0U);
}

TEST_F(RequesterTest, DestroyingTheChannelEndsTheConnection) {
  make({.credits = 8});
  const std::uint32_t xid = call_with_chunks();
  channel.reset();
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_EQ(requester->waiting(), 1U);
  start_again();
  EXPECT_EQ(open(sent()).header.xid, xid);
}

class SmallPoolTest : public RequesterTest {
 protected:
  SmallPoolTest() : RequesterTest({.slab_bytes = 4096, .limit = 48U << 10}) {}
};

TEST_F(SmallPoolTest, ACallWaitsForMemoryIfThereIsATimeWhenItCanBe) {
  make({.credits = 4});
  arrive(reply_to(call()));
  // Each uses a block of 16 KiB in addition to those of Receives and Sends.
  const auto big_call = [&](std::uint32_t bytes) {
    const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                       Piece{{memory_bytes.data(), bytes}, nullptr, true}};
    CallSpec spec;
    spec.message = message;
    spec.max_reply = 100;
    const std::uint32_t xid = requester->call(spec, now).value();
    channel->flush(now);
    return xid;
  };
  const std::uint32_t one = big_call(16'000);
  const std::uint32_t two = big_call(16'000);
  const std::uint32_t three = big_call(16'000);
  EXPECT_NE(open(sent()).header.xid, three);
  emitted.clear();
  for (const std::uint32_t xid : {one, two, three}) {
    complete_posted();
    arrive(reply_to(xid));
    complete_invalidations();
    complete_posted();
  }
  EXPECT_EQ(emitted.size(), 3U);
  // More than the pool ever has.
  big_call(64'000);
  EXPECT_EQ(emitted.back().status, CallStatus::kCannotSend);
}

}  // namespace
}  // namespace rpcrdma::protocol
