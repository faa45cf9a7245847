// Events that a channel and its roles emit for each kind of Call.
#include "support/channel_ends.h"
#include "support/emitted_events.h"

#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/protocol/responder.h>
#include <rpcrdma/trace/connection_tracer.h>

namespace rpcrdma::protocol {
namespace {

using fabric::Operation;
using fabric::Status;
using testing::Buffer;
using ::testing::ElementsAre;
using testing::encode;
using ::testing::IsEmpty;
using testing::open;
using testing::OpenHeader;
using testing::words;

constexpr std::uint32_t kConnection = 9;

class TraceTest : public testing::ChannelTest, public RequesterOwner, public ResponderOwner {
 protected:
  TraceTest() : memory_bytes(100'000) {
    memory = {memory_bytes.data(), memory_bytes.size(), 7};
    for (std::size_t i = 0; i < memory_bytes.size(); ++i) {
      memory_bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    }
  }
  ~TraceTest() override { channel.reset(); }

  // With 4 credits, on either side.
  void be_requester(std::uint32_t connection = kConnection) {
    if (!requester) requester.emplace(*this, RequesterOptions{.credits = 4});
    start(&*requester, nullptr, {.tracer = &emitted.tracer, .connection = connection});
  }
  void be_responder(std::uint32_t max_transfer = 1U << 30) {
    responder.emplace(*this, ResponderOptions{.credits = 4});
    start(nullptr, &*responder,
          {.max_transfer = max_transfer, .tracer = &emitted.tracer, .connection = kConnection});
    (void)emitted.take();
  }
  void on_outcome(const CallOutcome&) override { ++outcomes; }
  void on_call(const IncomingCall& c) override { ids.push_back(c.id); }
  void on_sent(std::uint64_t) override {}
  void on_cancelled(std::uint64_t) override {}

  std::uint32_t call(const CallSpec& spec) {
    const std::uint32_t xid = requester->call(spec, now).value();
    if (channel != nullptr) channel->flush(now);
    return xid;
  }
  std::uint32_t call(fabric::Time timeout = fabric::kNever) {
    const std::array<Piece, 1> message{Piece{small, nullptr, false}};
    CallSpec spec;
    spec.message = message;
    spec.max_reply = 100;
    spec.timeout = timeout;
    return call(spec);
  }
  static Buffer reply_to(std::uint32_t xid, std::uint32_t credits = 2) {
    wire::Header h;
    h.xid = xid;
    h.credit = credits;
    return encode(h, words({xid, 1, 0, 0}));
  }
  static Buffer error_to(std::uint32_t xid, wire::RdmaErr error) {
    wire::Header h;
    h.xid = xid;
    h.credit = 2;
    h.proc = wire::Proc::kError;
    h.error = error;
    return encode(h);
  }

  static Buffer call_stream(std::uint32_t xid) { return words({xid, 0, 2, 300, 4, 5}); }
  static OpenHeader open_call(std::uint32_t xid) {
    OpenHeader o;
    o.header.xid = xid;
    o.header.credit = 6;
    return o;
  }
  void reply(const std::vector<Piece>& message) {
    (void)responder->reply(ids.back(), message, now);
    channel->flush(now);
  }
  // The first Reply, so that the peer has its credits.
  void greet() {
    arrive(open_call(1).encode(call_stream(1)));
    reply({{reply_head, nullptr, false}});
    complete_posted();
    (void)emitted.take();
  }

  trace::testing::Emitted emitted{kConnection};
  std::optional<Requester> requester;
  std::optional<Responder> responder;
  int outcomes = 0;
  std::vector<std::uint64_t> ids;
  Buffer small = words({0xdead, 0, 2, 100003, 3, 7});
  Buffer reply_head = words({0xdead, 1, 5, 6});
  Buffer memory_bytes;
  fabric::Memory memory;
};

// ----- requester

TEST_F(TraceTest, RequesterInlineCall) {
  be_requester();
  EXPECT_THAT(emitted.take(),
              ElementsAre("receives +6 = 6",
                          "credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0"));
  now = 2000;
  ASSERT_EQ(call(), 1U);
  EXPECT_THAT(emitted.take(),
              ElementsAre("call 0 xid 1: 100003.3.7",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 0",
                          "message 0, 52 bytes"));
  EXPECT_EQ(emitted.tails[2], sent());
  now = 3000;
  arrive(reply_to(1));
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 44 bytes",
                  "call end 0 xid 1: status 0, attempts 1, 2000 2000 3000 3000", "receives +1 = 6",
                  "credits 0: requested 4, granted 2, used 0 of at most 0, waiting 0"));
  EXPECT_EQ(emitted.tails[0], reply_to(1));
  complete_posted();
  EXPECT_THAT(emitted.take(), IsEmpty());
}

TEST_F(TraceTest, RequesterReadChunk) {
  be_requester();
  (void)emitted.take();
  const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                     Piece{{memory_bytes.data(), 1001}, &memory, true}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  ASSERT_EQ(call(spec), 1U);
  EXPECT_THAT(emitted.take(),
              ElementsAre("call 0 xid 1: 100003.3.7",
                          "advertise 1 at 100000000, 1001 bytes, access 1, xid 1",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 0",
                          "message 0, 76 bytes"));
  now = 3000;
  arrive(reply_to(1));
  // It ends when its memory is fenced.
  EXPECT_THAT(emitted.take(),
              ElementsAre("message 1, 44 bytes", "receives +1 = 6",
                          "credits 0: requested 4, granted 2, used 0 of at most 0, waiting 0"));
  now = 4000;
  complete_invalidations();
  EXPECT_THAT(emitted.take(),
              ElementsAre("invalidate 1 by 0",
                          "call end 0 xid 1: status 0, attempts 1, 1000 1000 3000 4000"));
}

// Three handles, one of which the peer invalidates.
TEST_F(TraceTest, RequesterWriteChunksAndReplyChunk) {
  be_requester();
  (void)emitted.take();
  const std::array<Piece, 1> message{Piece{small, nullptr, false}};
  const std::array<ResultSpace, 2> results{ResultSpace{&memory_bytes[2000], 1500, &memory},
                                           ResultSpace{&memory_bytes[4000], 100, &memory}};
  CallSpec spec;
  spec.message = message;
  spec.results = results;
  spec.max_reply = 2000;
  ASSERT_EQ(call(spec), 1U);
  EXPECT_THAT(emitted.take(),
              ElementsAre("call 0 xid 1: 100003.3.7",
                          "advertise 1 at 100000000, 1500 bytes, access 2, xid 1",
                          "advertise 2 at 200000000, 100 bytes, access 2, xid 1",
                          "advertise 3 at 300000000, 2000 bytes, access 2, xid 1",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 0",
                          "message 0, 120 bytes"));
  OpenHeader back = open(sent());
  for (auto& chunk : back.writes) {
    for (wire::Segment& s : chunk) s.length = 0;
  }
  back.reply.reset();
  back.header.credit = 1;
  now = 3000;
  arrive(back.encode(words({1, 1, 0, 0})), 2);
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 92 bytes, invalidates 2", "invalidate 2 by 1", "receives +1 = 6",
                  "credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0"));
  now = 4000;
  complete_invalidations();
  EXPECT_THAT(emitted.take(),
              ElementsAre("invalidate 1 by 0", "invalidate 3 by 0",
                          "call end 0 xid 1: status 0, attempts 1, 1000 1000 3000 4000"));
}

TEST_F(TraceTest, RequesterLongCall) {
  be_requester();
  (void)emitted.take();
  Buffer args = small;
  args.resize(3000);
  const std::array<Piece, 1> message{Piece{args, nullptr, false}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  ASSERT_EQ(call(spec), 1U);
  EXPECT_THAT(emitted.take(),
              ElementsAre("call 0 xid 1: 100003.3.7",
                          "advertise 1 at 100000000, 3000 bytes, access 1, xid 1",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 0",
                          "message 0, 52 bytes"));
}

TEST_F(TraceTest, OfALongMessageTheFirstBytes) {
  be_requester();
  Buffer args = small;
  args.resize(800, 0x5a);
  const std::array<Piece, 1> message{Piece{args, nullptr, false}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  ASSERT_EQ(call(spec), 1U);
  EXPECT_THAT(emitted.take("message"), ElementsAre("message 0, 828 bytes"));
  const Buffer all = sent();
  EXPECT_EQ(emitted.tails[0], Buffer(all.begin(), all.begin() + trace::kMessageTail));
  Buffer long_reply = reply_to(1);
  long_reply.resize(1000, 0xa5);
  arrive(long_reply);
  EXPECT_THAT(emitted.take("message"), ElementsAre("message 1, 1000 bytes"));
  EXPECT_EQ(emitted.tails[0], Buffer(long_reply.begin(), long_reply.begin() + trace::kMessageTail));
}

TEST_F(TraceTest, OfALongHeaderAllAndTheFirstBytesBehindIt) {
  be_responder();
  OpenHeader o = open_call(1);
  for (std::uint32_t i = 0; i < 25; ++i) o.reads.push_back({400, {i + 1, 8, 0x1000}});
  const Buffer header = o.encode();
  ASSERT_GT(header.size(), trace::kMessageTail);
  Buffer message = header;
  message.resize(1000, 0x77);
  arrive(message);
  EXPECT_THAT(emitted.take("message 1"), ElementsAre("message 1, 1000 bytes"));
  EXPECT_EQ(emitted.tails[0],
            Buffer(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(
                                                          header.size() + trace::kBehindHeader)));
}

TEST_F(TraceTest, OfALongMalformedMessageAsMuchAsOfALongHeader) {
  be_responder();
  Buffer message = open_call(1).encode();
  // The Read list extends to the end.
  message.resize(message.size() - 12);
  message.resize(900, 0xff);
  arrive(message);
  EXPECT_THAT(emitted.take("message 1"), ElementsAre("message 1, 900 bytes"));
  EXPECT_EQ(emitted.tails[0], message);
}

TEST_F(TraceTest, CallsWaitForACredit) {
  be_requester();
  (void)emitted.take();
  call();
  (void)emitted.take();
  call();
  call();
  EXPECT_THAT(emitted.take(),
              ElementsAre("call 0 xid 2: 100003.3.7", "credit wait begins 2",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 1",
                          "call 0 xid 3: 100003.3.7", "credit wait begins 3",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 2"));
  arrive(reply_to(1, 1));
  EXPECT_THAT(emitted.take(),
              ElementsAre("message 1, 44 bytes",
                          "call end 0 xid 1: status 0, attempts 1, 1000 1000 1000 1000",
                          "receives +1 = 6", "credit wait ends 2",
                          "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 1",
                          "message 0, 52 bytes"));
  // A Call that is never sent ends its credit wait, too.
  now = 5000;
  requester->close(now);
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("credit wait ends 3", "call end 0 xid 3: status 6, attempts 0, 1000 0 0 5000",
                  "call end 0 xid 2: status 6, attempts 1, 1000 1000 0 5000",
                  "credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0"));
}

TEST_F(TraceTest, CallsComeToAnotherConnection) {
  be_requester();
  call();
  call();
  (void)emitted.take();
  now = 2000;
  channel->disconnected(now);
  EXPECT_THAT(emitted.take(), IsEmpty());
  // Nothing of this is emitted until there is a connection again.
  channel.reset();
  call();
  EXPECT_THAT(emitted.take(), IsEmpty());
  now = 3000;
  be_requester(10);
  EXPECT_THAT(emitted.take(),
              ElementsAre("[10] receives +6 = 6", "[10] call 0 xid 1: 100003.3.7",
                          "[10] call 0 xid 2: 100003.3.7", "[10] credit wait begins 2",
                          "[10] call 0 xid 3: 100003.3.7", "[10] credit wait begins 3",
                          "[10] credits 0: requested 4, granted 1, used 0 of at most 0, waiting 2",
                          "[10] credits 0: requested 4, granted 1, used 1 of at most 1, waiting 2",
                          "[10] message 0, 52 bytes"));
  now = 4000;
  arrive(reply_to(1));
  EXPECT_THAT(emitted.take("[10] call end"),
              ElementsAre("[10] call end 0 xid 1: status 0, attempts 2, 1000 3000 4000 4000"));
  // Calls that end without a connection belong to none.
  channel->disconnected(now);
  requester->close(5000);
  EXPECT_THAT(emitted.take("[0] "),
              ElementsAre("[0] call end 0 xid 2: status 6, attempts 1, 1000 4000 0 5000",
                          "[0] call end 0 xid 3: status 6, attempts 1, 2000 4000 0 5000"));
}

// Its outcome is known, and the connection ends before its memory is fenced.
TEST_F(TraceTest, ACallEndsWithItsConnection) {
  be_requester();
  const std::array<Piece, 2> message{Piece{small, nullptr, false},
                                     Piece{{memory_bytes.data(), 1001}, &memory, true}};
  CallSpec spec;
  spec.message = message;
  spec.max_reply = 100;
  call(spec);
  arrive(reply_to(1));
  (void)emitted.take();
  now = 2000;
  channel->disconnected(now);
  EXPECT_THAT(emitted.take(),
              ElementsAre("call end 0 xid 1: status 0, attempts 1, 1000 1000 1000 2000"));
}

TEST_F(TraceTest, RepliesThatCannotBeTrue) {
  be_requester();
  call();
  (void)emitted.take();
  arrive(reply_to(77));
  EXPECT_THAT(emitted.take(),
              ElementsAre("message 1, 44 bytes",
                          "error by 1, xid 77: a Reply that no Call waits for", "receives +1 = 6"));
  arrive(words({1, 1}));
  EXPECT_THAT(emitted.take("error"), ::testing::SizeIs(1));
  arrive(open_call(1).encode(call_stream(1)));
  EXPECT_THAT(emitted.take("error"),
              ElementsAre("error by 1, xid 1: a Call, but there is no responder here"));
  arrive(reply_to(1, 0));
  EXPECT_THAT(emitted.take("error"), ElementsAre("error by 1, xid 1: a grant of zero credits"));
  call();
  OpenHeader back = open(reply_to(2));
  back.reads = {{4, {1, 2, 3}}};
  (void)emitted.take();
  arrive(back.encode(words({2, 1, 0, 0})));
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 68 bytes", "error by 1, xid 2: a Reply has a Read list",
                  "call end 0 xid 2: status 4, attempts 1, 1000 1000 1000 1000", "receives +1 = 6",
                  "credits 0: requested 4, granted 0, used 0 of at most 0, waiting 0, limit 1"));
}

TEST_F(TraceTest, RequesterIsRefused) {
  be_requester();
  call();
  (void)emitted.take();
  arrive(error_to(1, wire::RdmaErr::kChunk));
  // The RDMA_ERROR is a message.
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 20 bytes",
                  "call end 0 xid 1: status 3, attempts 1, 1000 1000 1000 1000", "receives +1 = 6",
                  "credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0"));
}

TEST_F(TraceTest, ACallThatDoesNotFit) {
  be_requester();
  (void)emitted.take();
  const std::array<Piece, 1> message{Piece{small, nullptr, false}};
  const std::array<ResultSpace, 1> results{ResultSpace{&memory_bytes[0], 1500, &memory}};
  CallSpec spec;
  spec.message = message;
  spec.results = results;
  fabric.refuse_advertise = fabric::Errc::kBadArgument;
  fabric.advertise_room = 0;
  call(spec);
  EXPECT_THAT(emitted.take(), ElementsAre("call 0 xid 1: 100003.3.7", "error by 0, xid 1: refused",
                                          "call end 0 xid 1: status 5, attempts 0, 1000 0 0 1000"));
}

TEST_F(TraceTest, ACallThatTimesOutEndsTheConnection) {
  be_requester();
  call(500);
  (void)emitted.take();
  now = 1500;
  channel->expire(now);
  EXPECT_THAT(emitted.take(),
              ElementsAre("error by 1, xid 1: a Call timed out",
                          "credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0"));
  now = 1600;
  channel->disconnected(now);
  EXPECT_THAT(emitted.take(),
              ElementsAre("call end 0 xid 1: status 1, attempts 1, 1000 1000 0 1600"));
}

// The requester's user calls it directly, not through its channel.
TEST_F(TraceTest, ATimeoutIsEmittedWithTheTimeAtWhichItIsFound) {
  be_requester();
  call(500);
  (void)emitted.take();
  now = 1500;
  requester->expire(now);
  EXPECT_THAT(emitted.take(),
              ElementsAre("error by 1, xid 1: a Call timed out",
                          "credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0"));
  EXPECT_THAT(emitted.times, ElementsAre(1500, 1500));
}

TEST_F(TraceTest, AnEndIsEmittedWithItsTime) {
  be_responder();
  arrive(open_call(1).encode(call_stream(1)));
  (void)emitted.take();
  now = 2500;
  channel->close(now);
  EXPECT_THAT(emitted.take("call end"),
              ElementsAre("call end 1 xid 1: status 0, attempts 0, 1000 1000 0 2500"));
}

TEST_F(TraceTest, AProbeIsEmittedWithItsTime) {
  be_requester();
  (void)emitted.take();
  now = 2500;
  channel->probe(now);
  (void)emitted.take();
  EXPECT_THAT(emitted.times, ElementsAre(2500));
}

TEST_F(TraceTest, AForeignHandleIsInvalidated) {
  be_requester();
  call();
  (void)emitted.take();
  arrive(reply_to(1), 44);
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 44 bytes, invalidates 44",
                  "error by 1, xid 1: a Reply invalidated a handle that is not its Call's"));
}

TEST_F(TraceTest, WorkThatFails) {
  be_requester();
  call();
  (void)emitted.take();
  complete(fabric.posted[0].id, Operation::kSend, Status::kRnrRetriesExceeded);
  EXPECT_THAT(emitted.take(), ElementsAre("error by 1, xid 0: Send failed: RNR retries exceeded"));
  // Consequences of it are not emitted.
  complete(fabric.posted[0].id, Operation::kSend, Status::kFlushed);
  EXPECT_THAT(emitted.take(), IsEmpty());
}

TEST_F(TraceTest, AProbeIsAWriteOfNothing) {
  be_requester();
  (void)emitted.take();
  channel->probe(now);
  EXPECT_THAT(emitted.take(), ElementsAre("write 0 #1: 0 at 0, 0 bytes, xid 0"));
  complete(fabric.posted[0].id, Operation::kWrite, Status::kRetriesExceeded);
  EXPECT_THAT(emitted.take(),
              ElementsAre("write end 0 #1: status 9, 0 bytes",
                          "error by 1, xid 0: the peer does not answer: retries exceeded"));
}

// ----- responder

TEST_F(TraceTest, ResponderInlineCall) {
  be_responder();
  arrive(open_call(5).encode(call_stream(5)));
  EXPECT_THAT(emitted.take(),
              ElementsAre("message 1, 52 bytes", "call 1 xid 5: 300.4.5", "receives +1 = 6",
                          "credits 1: requested 6, granted 1, used 1 of at most 1, waiting 0"));
  EXPECT_EQ(emitted.tails[0], open_call(5).encode(call_stream(5)));
  now = 2000;
  reply({{reply_head, nullptr, false}});
  EXPECT_THAT(emitted.take(),
              ElementsAre("credits 1: requested 6, granted 4, used 0 of at most 1, waiting 0",
                          "message 0, 44 bytes"));
  EXPECT_EQ(emitted.tails[1], sent());
  now = 3000;
  complete_posted();
  EXPECT_THAT(emitted.take(),
              ElementsAre("call end 1 xid 5: status 0, attempts 0, 1000 1000 2000 3000"));
}

// With a program that answers at once, only this shows how many Calls arrived together.
TEST_F(TraceTest, CreditsAreEmittedOnceForAllThatCameAtATime) {
  be_responder();
  greet();
  arrive_unflushed(open_call(5).encode(call_stream(5)));
  arrive_unflushed(open_call(6).encode(call_stream(6)));
  for (const std::uint64_t id : std::span(ids).last(2)) {
    (void)responder->reply(id, {{Piece{reply_head, nullptr, false}}}, now);
  }
  channel->flush(now);
  EXPECT_THAT(emitted.take("credits"),
              ElementsAre("credits 1: requested 6, granted 4, used 0 of at most 2, waiting 0"));
  channel->flush(now);
  EXPECT_THAT(emitted.take("credits"), IsEmpty());
}

// Two chunks, the first of two segments.
TEST_F(TraceTest, ResponderReadChunks) {
  be_responder();
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 300, 0x1000}}, {12, {2, 51, 0x2000}}, {364, {3, 7, 0x3000}}};
  arrive(h.encode(call_stream(5)));
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 124 bytes", "receives +1 = 6",
                  "credits 1: requested 6, granted 1, used 1 of at most 1, waiting 0",
                  "read 0 #1: 1 at 1000, 300 bytes, xid 5", "read 0 #2: 2 at 2000, 51 bytes, xid 5",
                  "read 0 #3: 3 at 3000, 7 bytes, xid 5"));
  for (std::uint8_t i = 0; i < 3; ++i) {
    const fabric::Slice& s = fabric.posted[i].local[0];
    std::memset(s.data, i + 1, s.length);
  }
  now = 2000;
  complete_posted();
  EXPECT_THAT(emitted.take(),
              ElementsAre("read end 0 #1: status 0, 300 bytes", "read end 0 #2: status 0, 51 bytes",
                          "read end 0 #3: status 0, 7 bytes", "call 1 xid 5: 300.4.5"));
  EXPECT_THAT(emitted.tails,
              ElementsAre(Buffer(trace::kOperationTail, 1), Buffer(51, 2), Buffer(7, 3), Buffer()));
  now = 3000;
  reply({{reply_head, nullptr, false}});
  now = 4000;
  complete_posted();
  EXPECT_THAT(emitted.take("call end"),
              ElementsAre("call end 1 xid 5: status 0, attempts 0, 1000 2000 3000 4000"));
}

TEST_F(TraceTest, ResponderReadChunkInParts) {
  be_responder(200);
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 300, 0x1000}}};
  arrive(h.encode(call_stream(5)));
  EXPECT_THAT(emitted.take("read"), ElementsAre("read 0 #1: 1 at 1000, 200 bytes, xid 5",
                                                "read 0 #2: 1 at 10c8, 100 bytes, xid 5"));
  for (std::uint8_t i = 0; i < 2; ++i) {
    const fabric::Slice& s = fabric.posted[i].local[0];
    std::memset(s.data, i + 1, s.length);
  }
  complete_posted();
  EXPECT_THAT(emitted.take("read end"), ElementsAre("read end 0 #1: status 0, 200 bytes",
                                                    "read end 0 #2: status 0, 100 bytes"));
  EXPECT_THAT(emitted.tails[0], ::testing::Each(1));
  EXPECT_THAT(emitted.tails[1], ::testing::Each(2));
}

TEST_F(TraceTest, ResponderLongCallWithAnItem) {
  be_responder();
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kNomsg;
  const Buffer stream = call_stream(5);
  h.reads = {{0, {1, 24, 0x1000}}, {24, {2, 6, 0x2000}}};
  arrive(h.encode());
  (void)emitted.take();
  std::copy(stream.begin(), stream.end(), fabric.posted[0].local[0].data);
  std::memset(fabric.posted[1].local[0].data, 8, 6);
  complete_posted();
  EXPECT_THAT(emitted.take(),
              ElementsAre("read end 0 #1: status 0, 24 bytes", "read end 0 #2: status 0, 6 bytes",
                          "call 1 xid 5: 300.4.5"));
  EXPECT_THAT(emitted.tails, ElementsAre(stream, Buffer(6, 8), Buffer()));
}

TEST_F(TraceTest, ResponderWriteChunk) {
  be_responder();
  OpenHeader h = open_call(5);
  h.writes = {{{1, 300, 0x1000}, {2, 300, 0x2000}}};
  arrive(h.encode(call_stream(5)));
  (void)emitted.take();
  reply({{reply_head, nullptr, false}, {{&memory_bytes[50], 400}, &memory, true}});
  EXPECT_THAT(emitted.take(),
              ElementsAre("credits 1: requested 6, granted 4, used 0 of at most 1, waiting 0",
                          "write 0 #1: 1 at 1000, 300 bytes, xid 5",
                          "write 0 #2: 2 at 2000, 100 bytes, xid 5", "message 0, 84 bytes"));
  EXPECT_EQ(emitted.tails[1], Buffer(&memory_bytes[50], &memory_bytes[50 + trace::kOperationTail]));
  EXPECT_EQ(emitted.tails[2], Buffer(&memory_bytes[350], &memory_bytes[450]));
  // Writes that succeed have no end event.
  complete_posted();
  EXPECT_THAT(emitted.take(),
              ElementsAre("call end 1 xid 5: status 0, attempts 0, 1000 1000 1000 1000"));
}

// One Write of several pieces, whose payload is copied from them.
TEST_F(TraceTest, ResponderReplyChunk) {
  be_responder();
  OpenHeader h = open_call(5);
  h.reply = {{7, 5000, 0x1000}};
  arrive(h.encode(call_stream(5)));
  (void)emitted.take();
  reply({{reply_head, nullptr, false},
         {{&memory_bytes[0], 100}, &memory, false},
         {{&memory_bytes[500], 1000}, &memory, false}});
  EXPECT_THAT(emitted.take(),
              ElementsAre("credits 1: requested 6, granted 4, used 0 of at most 1, waiting 0",
                          "write 0 #1: 7 at 1000, 1116 bytes, xid 5", "message 0, 48 bytes"));
  Buffer front = words({5, 1, 5, 6});
  front.insert(front.end(), &memory_bytes[0], &memory_bytes[100]);
  front.insert(front.end(), &memory_bytes[500], &memory_bytes[500 + 140]);
  ASSERT_EQ(front.size(), trace::kOperationTail);
  EXPECT_EQ(emitted.tails[1], front);
}

TEST_F(TraceTest, ResponderRefusesAHeader) {
  be_responder();
  OpenHeader h = open_call(5);
  h.reads = {{13, {1, 100, 1000}}};
  arrive(h.encode(call_stream(5)));
  EXPECT_THAT(emitted.take(),
              ElementsAre("message 1, 76 bytes",
                          "error by 1, xid 5: ERR_CHUNK: a Position is not a multiple of 4 (RD-02)",
                          "receives +1 = 6",
                          "credits 1: requested 0, granted 4, used 0 of at most 1, waiting 0",
                          "message 0, 20 bytes"));
  complete_posted();
  EXPECT_THAT(emitted.take(), IsEmpty());
  Buffer other = open_call(6).encode(call_stream(6));
  other[7] = 9;
  arrive(other);
  EXPECT_THAT(emitted.take("error"),
              ElementsAre("error by 1, xid 6: ERR_VERS: rdma_vers is not supported (HDR-03)"));
}

TEST_F(TraceTest, ResponderRefusesAStream) {
  be_responder();
  OpenHeader h = open_call(5);
  h.header.proc = wire::Proc::kNomsg;
  h.reads = {{0, {1, 24, 0x1000}}};
  arrive(h.encode());
  (void)emitted.take();
  const Buffer stream = call_stream(6);
  std::copy(stream.begin(), stream.end(), fabric.posted[0].local[0].data);
  complete_posted();
  EXPECT_THAT(emitted.take(),
              ElementsAre("read end 0 #1: status 0, 24 bytes",
                          "error by 1, xid 5: ERR_CHUNK: the RPC message has another XID (HDR-02)",
                          "credits 1: requested 6, granted 4, used 0 of at most 1, waiting 0",
                          "message 0, 20 bytes"));
}

TEST_F(TraceTest, ResponderCannotReply) {
  be_responder();
  arrive(open_call(5).encode(call_stream(5)));
  (void)emitted.take();
  reply({{reply_head, nullptr, false}, {{&memory_bytes[0], 2000}, nullptr, false}});
  EXPECT_THAT(emitted.take(),
              ElementsAre("error by 1, xid 5: ERR_CHUNK: the Reply does not fit "
                          "inline, and has no Reply chunk",
                          "credits 1: requested 6, granted 4, used 0 of at most 1, waiting 0",
                          "message 0, 20 bytes"));
  now = 2000;
  complete_posted();
  // It was delivered to the program, so it has an end.
  EXPECT_THAT(emitted.take(),
              ElementsAre("call end 1 xid 5: status 0, attempts 0, 1000 1000 1000 2000"));
}

TEST_F(TraceTest, ResponderIgnores) {
  be_responder();
  arrive(error_to(5, wire::RdmaErr::kChunk));
  EXPECT_THAT(emitted.take(),
              ElementsAre("message 1, 20 bytes", "error by 1, xid 5: an RDMA_ERROR for no Call",
                          "receives +1 = 6"));
}

// From a peer that grants more than its own four.
TEST_F(TraceTest, AGrantIsReportedAsItWasGivenBesideTheLimit) {
  be_requester();
  ASSERT_EQ(call(), 1U);
  arrive(reply_to(1, 32));
  EXPECT_THAT(
      emitted.take("credits"),
      ElementsAre("credits 0: requested 4, granted 1, used 0 of at most 0, waiting 0",
                  "credits 0: requested 4, granted 1, used 1 of at most 1, waiting 0",
                  "credits 0: requested 4, granted 32, used 0 of at most 0, waiting 0, limit 4"));
}

TEST_F(TraceTest, MoreCallsThanCredits) {
  be_responder();
  arrive(open_call(5).encode(call_stream(5)));
  (void)emitted.take();
  arrive(open_call(6).encode(call_stream(6)));
  EXPECT_THAT(
      emitted.take(),
      ElementsAre("message 1, 52 bytes",
                  "error by 1, xid 6: the peer sent more Calls than it was granted credits"));
}

TEST_F(TraceTest, OperationsThatFail) {
  be_responder();
  OpenHeader h = open_call(5);
  h.reads = {{12, {1, 300, 0x1000}}, {12, {2, 51, 0x2000}}};
  arrive(h.encode(call_stream(5)));
  (void)emitted.take();
  ASSERT_NE(fabric.posted[0].id, fabric.posted[1].id);
  complete(fabric.posted[1].id, Operation::kRead, Status::kRemoteAccess);
  EXPECT_THAT(emitted.take(), ElementsAre("read end 0 #2: status 6, 0 bytes",
                                          "error by 1, xid 0: Read failed: remote access"));
}

TEST_F(TraceTest, AWriteThatFails) {
  be_responder();
  OpenHeader h = open_call(5);
  h.writes = {{{1, 300, 0x1000}, {2, 300, 0x2000}}};
  arrive(h.encode(call_stream(5)));
  reply({{reply_head, nullptr, false}, {{&memory_bytes[50], 400}, &memory, true}});
  (void)emitted.take();
  complete(fabric.posted[1].id, Operation::kWrite, Status::kRemoteAccess);
  EXPECT_THAT(emitted.take(), ElementsAre("write end 0 #2: status 6, 0 bytes",
                                          "error by 1, xid 0: Write failed: remote access"));
}

TEST_F(TraceTest, CallsEndWithTheirConnection) {
  be_responder();
  greet();
  arrive(open_call(5).encode(call_stream(5)));
  arrive(open_call(6).encode(call_stream(6)));
  now = 2000;
  reply({{reply_head, nullptr, false}});
  OpenHeader h = open_call(7);
  h.reads = {{12, {1, 300, 0x1000}}};
  arrive(h.encode(call_stream(7)));
  (void)emitted.take();
  now = 3000;
  channel->disconnected(now);
  // The second was not delivered to the program, so it has no start.
  EXPECT_THAT(emitted.take(),
              ElementsAre("call end 1 xid 5: status 0, attempts 0, 1000 1000 0 3000",
                          "call end 1 xid 6: status 0, attempts 0, 1000 1000 2000 3000"));
}

// ----- no reader

TEST_F(TraceTest, WithoutAListenerNothingIsEmitted) {
  emitted.tracer.listen(false);
  be_requester();
  call();
  call();
  arrive(reply_to(77));
  arrive(reply_to(1));
  arrive(reply_to(2));
  complete_posted();
  channel->probe(now);
  call(1);
  now = 5000;
  channel->expire(now);
  channel->disconnected(now);
  EXPECT_EQ(outcomes, 3);
  be_responder();
  OpenHeader h = open_call(5);
  h.writes = {{{1, 300, 0x1000}}};
  h.reads = {{12, {1, 300, 0x1000}}};
  arrive(h.encode(call_stream(5)));
  complete_posted();
  reply({{reply_head, nullptr, false}, {{&memory_bytes[50], 40}, &memory, true}});
  complete_posted();
  h.reads[0].position = 13;
  arrive(h.encode(call_stream(6)));
  channel->disconnected(now);
  EXPECT_EQ(emitted.tracer.ring().emitted(), 0U);
}

}  // namespace
}  // namespace rpcrdma::protocol
