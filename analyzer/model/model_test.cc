// Tests of model::Model with handmade Sends and RDMA operations.
#include "support/rpc_messages.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/model/model.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::model {
namespace {

using namespace testing;
using ::testing::ElementsAre;

struct Seen {
  Kind kind;
  std::uint32_t xid;
  std::uint64_t match;
  std::int64_t latency;
  std::uint8_t caller;
  Credits credits;
  RpcInfo rpc;
};

struct Ended {
  std::uint32_t xid;
  Ending ending;
  std::size_t operations;
  bool answered;
  std::uint64_t digest;
  std::vector<Shared> shared;
};

// A Reply whose Read chunks were read.
struct ReadEnded {
  std::uint32_t xid;
  std::size_t operations;
  std::uint64_t moved;
  RpcInfo rpc;
};

struct Recorder : Observer {
  std::vector<ReadEnded> read;
  std::vector<Seen> messages;
  std::vector<Ended> ended;
  std::vector<std::uint32_t> identified;
  void on_message(const MessageSeen& event) override {
    const Message& m = event.message;
    messages.push_back({m.kind, m.xid, m.match_frame, m.latency_ns, m.caller, m.credits, m.rpc});
  }
  void on_identified(const Call& call) override { identified.push_back(call.message.rpc.program); }
  void on_reply_read(const ReplyRead& event) override {
    std::uint64_t moved = 0;
    for (const CallChunk& chunk : event.call.chunks) {
      if (chunk.list == ChunkList::kReplyRead) moved += chunk.moved;
    }
    read.push_back({event.reply.xid, event.call.operations.size(), moved, event.reply.rpc});
  }
  void on_call_end(const CallEnded& event) override {
    const Call& call = event.call;
    ended.push_back({call.message.xid,
                     call.ending,
                     call.operations.size(),
                     event.answer != nullptr,
                     call.digest,
                     {}});
    for (const CallSegment& s : call.segments) ended.back().shared.push_back(s.shared);
  }
};

constexpr int kClient = 0, kServer = 1;

struct ModelTest : ::testing::Test {
  Recorder detected;
  ObserverList observers{&detected};
  ModelOptions options;
  Model model{observers, options};
  roce::Connection connection;
  std::uint64_t frame = 0;

  ModelTest() { model.on_open(connection); }

  void send(int side, const std::vector<std::uint8_t>& bytes, bool complete = true) {
    roce::SendMessage m;
    m.sender = static_cast<std::uint8_t>(side);
    m.frame = m.first_frame = ++frame;
    m.time_ns = m.first_ns = static_cast<std::int64_t>(frame) * 1000;
    m.data = bytes;
    m.wire_length = bytes.size();
    m.complete = complete;
    model.on_send(connection, m);
  }
  void call(std::uint32_t xid, int side = kClient, std::uint32_t program = 100003,
            std::uint32_t credit = 128) {
    send(side, message(header(xid, credit), rpc_call(xid, program, 3, 1)));
  }
  void reply(std::uint32_t xid, int side = kServer, std::uint32_t credit = 64) {
    send(side, message(header(xid, credit), rpc_reply(xid)));
  }
  // A whole operation, with data if the model wants it.
  void operate(int initiator, roce::OpKind kind, const wire::Segment& at, wire::Bytes data = {}) {
    roce::Operation op;
    op.kind = kind;
    op.initiator = static_cast<std::uint8_t>(initiator);
    op.handle = at.handle;
    op.offset = at.offset;
    op.length = at.length;
    op.first_frame = op.last_frame = ++frame;
    op.first_ns = op.last_ns = static_cast<std::int64_t>(frame) * 1000;
    model.on_operation(connection, op);
    if (op.want_data) model.on_data({connection, op, 0, data});
    op.bytes = op.length;
    op.complete = true;
    model.on_operation_end(connection, op);
  }
  const ConnectionModel& m() { return model.connection(0); }
};

TEST_F(ModelTest, JoinsCallAndReply) {
  call(7);
  reply(7);
  ASSERT_EQ(detected.messages.size(), 2U);
  EXPECT_EQ(detected.messages[1].kind, Kind::kReply);
  EXPECT_EQ(detected.messages[1].match, 1U);
  EXPECT_EQ(detected.messages[1].latency, 1000);
  ASSERT_EQ(detected.ended.size(), 1U);
  EXPECT_EQ(detected.ended[0].ending, Ending::kReplied);
  EXPECT_EQ(m().client, kClient);
  EXPECT_EQ(m().caller[kClient].replies, 1U);
}

TEST_F(ModelTest, ACallSentAgainHasTheDigestOfTheFirst) {
  call(7);
  reply(7);
  call(8);
  reply(8);
  call(7, kClient, 100005);
  reply(7);
  ASSERT_EQ(detected.ended.size(), 3U);
  EXPECT_NE(detected.ended[0].digest, 0U);
  EXPECT_EQ(detected.ended[0].digest, detected.ended[1].digest);  // excludes the XID
  EXPECT_NE(detected.ended[0].digest, detected.ended[2].digest);
}

TEST_F(ModelTest, MemoryThatTwoSegmentsOfAHandleCoverIsShared) {
  const auto offer = [&](std::uint32_t xid, std::vector<wire::Segment> segments) {
    const std::vector<wire::WriteChunk> chunks{segments};
    wire::Header h = header(xid, 32);
    h.writes = chunks;
    send(kClient, message(h, rpc_call(xid, 100003, 3, 6)));
  };
  offer(1, {{5, 64, 0}, {5, 64, 64}});
  offer(2, {{5, 64, 100}, {6, 64, 0}});
  offer(3, {{7, 64, 0}, {7, 64, 63}});
  for (const std::uint32_t xid : {1U, 2U, 3U}) reply(xid);
  ASSERT_EQ(detected.ended.size(), 3U);
  EXPECT_THAT(detected.ended[0].shared, ElementsAre(Shared::kNo, Shared::kWithOtherCall));
  EXPECT_THAT(detected.ended[1].shared, ElementsAre(Shared::kWithOtherCall, Shared::kNo));
  EXPECT_THAT(detected.ended[2].shared, ElementsAre(Shared::kWithOwnCall, Shared::kWithOwnCall));
}

TEST_F(ModelTest, RepliesInAnyOrder) {
  for (const std::uint32_t xid : {1U, 2U, 3U}) call(xid);
  for (const std::uint32_t xid : {2U, 3U, 1U}) reply(xid);
  EXPECT_EQ(detected.messages[3].match, 2U);
  EXPECT_EQ(detected.messages[5].match, 1U);
  EXPECT_EQ(m().caller[kClient].in_use_max, 3U);
  EXPECT_EQ(m().caller[kClient].credits.in_use, 0U);
}

TEST_F(ModelTest, CreditLedgersOfBothDirectionsAreApart) {
  call(1);
  reply(1);
  call(1, kServer, 0x40000000, 2);  // the same XID, the other direction
  reply(1, kClient, 16);
  const CallerCounts& forward = m().caller[kClient];
  const CallerCounts& reverse = m().caller[kServer];
  EXPECT_EQ(forward.credits.requested, 128U);
  EXPECT_EQ(forward.credits.granted, 64U);
  EXPECT_EQ(reverse.credits.requested, 2U);
  EXPECT_EQ(reverse.credits.granted, 16U);
  EXPECT_TRUE(m().reverse(kServer));
  EXPECT_FALSE(m().reverse(kClient));
}

TEST_F(ModelTest, CallbackFirstStillMakesTheOtherSideTheClient) {
  call(9, kServer, 0x40000000, 2);
  EXPECT_EQ(m().client, kClient);
  EXPECT_TRUE(m().reverse(kServer));
}

TEST_F(ModelTest, UseOfRdmaShowsTheServer) {
  const wire::ReadSegment read{128, {5, 100, 0x1000}};
  wire::Header h = header(1, 32);
  h.reads = {&read, 1};
  // Its program is in the transient range, which alone would suggest the server.
  send(kClient, message(h, rpc_call(1, 0x40000001, 1, 5)));
  EXPECT_EQ(m().client, kServer);
  operate(kServer, roce::OpKind::kRead, read.target);
  EXPECT_EQ(m().client, kClient);
  EXPECT_TRUE(m().client_certain);
}

TEST_F(ModelTest, OperationsAreJoinedToTheSegmentsThatTheyMove) {
  const wire::ReadSegment read{128, {5, 100, 0x1000}};
  const wire::Segment write{6, 200, 0x5000};
  const wire::WriteChunk chunk(&write, 1);
  wire::Header h = header(1, 32);
  h.reads = {&read, 1};
  h.writes = {&chunk, 1};
  send(kClient, message(h, rpc_call(1, 100003, 3, 7)));
  operate(kServer, roce::OpKind::kRead, read.target);
  operate(kServer, roce::OpKind::kWrite, {6, 50, 0x5000});
  operate(kServer, roce::OpKind::kWrite, {6, 60, 0x5000 + 50});
  operate(kServer, roce::OpKind::kWrite, {77, 60, 0x5000});  // belongs to no Call
  reply(1);
  ASSERT_EQ(detected.ended.size(), 1U);
  EXPECT_EQ(detected.ended[0].operations, 3U);
  EXPECT_EQ(m().chunk_bytes[0], 100U);
  EXPECT_EQ(m().chunk_bytes[1], 110U);
  EXPECT_EQ(m().unmatched_operations, 1U);
}

// Credentials and a file handle of 20 bytes or more may have padding in front of them.
TEST_F(ModelTest, OfAPaddedCallOnlyWhatIsCertainIsKnown) {
  std::vector<std::uint8_t> args;
  const auto word = [&](std::uint32_t v) {
    args.resize(args.size() + 4);
    wire::store_be32(&args[args.size() - 4], v);
  };
  for (const std::uint32_t v : {0U, 1U, 2U, 22U, 20U, 0U, 0U, 0U, 0U, 0U, 10U}) word(v);
  const auto padded = [&](std::uint32_t xid, std::uint32_t thresh) {
    wire::Header h = header(xid, 32, wire::Proc::kMsgp);
    h.align = 64;
    h.thresh = thresh;
    send(kClient, message(h, rpc_call(xid, 100003, 4, 1, args)));
    return detected.messages.back().rpc;
  };
  EXPECT_EQ(padded(1, 21).ops.kept, 2U);
  const RpcInfo cut = padded(2, 20);
  EXPECT_TRUE(cut.header_seen);
  EXPECT_EQ(cut.ops.kept, 1U);
  // Also the credentials, which are empty here.
  const RpcInfo all = padded(3, 0);
  EXPECT_EQ(all.program, 100003U);
  EXPECT_FALSE(all.header_seen);
  EXPECT_EQ(all.ops.kept, 0U);
}

// The RPC header has 24 bytes, the status 4.
TEST_F(ModelTest, OfAReplyWithReadChunksOnlyWhatStandsBeforeThemIsKnown) {
  const auto reply_with = [&](std::uint32_t xid, std::uint32_t position) {
    call(xid);
    const wire::ReadSegment read{position, {5, 100, 0x1000}};
    wire::Header h = header(xid, 32);
    h.reads = {&read, 1};
    send(kServer, message(h, rpc_reply(xid, std::vector<std::uint8_t>(8))));
    return detected.messages.back().rpc;
  };
  EXPECT_TRUE(reply_with(1, 28).has_status);
  const RpcInfo without = reply_with(2, 24);
  EXPECT_TRUE(without.header_seen);
  EXPECT_FALSE(without.has_status);
  EXPECT_FALSE(reply_with(3, 20).header_seen);
}

// A Reply with a Read chunk of two segments.
struct ReplyReads : ModelTest {
  const std::array<wire::ReadSegment, 2> reads{{{28, {5, 100, 0x1000}}, {28, {6, 50, 0x2000}}}};

  void reply_with_reads(std::uint32_t xid) {
    wire::Header h = header(xid, 32);
    h.reads = reads;
    send(kServer, message(h, rpc_reply(xid, std::vector<std::uint8_t>(4))));
  }
  void done(std::uint32_t xid) { send(kClient, message(header(xid, 32, wire::Proc::kDone))); }
};

TEST_F(ReplyReads, TheCallIsKeptUntilTheyAreRead) {
  call(1);
  reply_with_reads(1);
  ASSERT_EQ(detected.ended.size(), 1U);
  EXPECT_EQ(m().caller[kClient].credits.in_use, 0U);
  call(2);
  operate(kClient, roce::OpKind::kRead, reads[0].target);
  EXPECT_TRUE(detected.read.empty());
  operate(kClient, roce::OpKind::kRead, reads[1].target);
  ASSERT_EQ(detected.read.size(), 1U);
  EXPECT_EQ(detected.read[0].xid, 1U);
  EXPECT_EQ(detected.read[0].operations, 2U);
  EXPECT_EQ(detected.read[0].moved, 150U);
  EXPECT_EQ(m().chunk_bytes[0], 150U);
  EXPECT_EQ(m().unmatched_operations, 0U);
  EXPECT_EQ(m().client, kClient);
  // The RDMA_DONE belongs to the Reply.
  done(1);
  EXPECT_EQ(detected.messages.back().match, 2U);
  EXPECT_EQ(detected.messages.back().latency, 4000);
  done(1);
  EXPECT_EQ(detected.messages.back().match, 0U);
  reply(2);
  EXPECT_EQ(detected.ended.size(), 2U);
}

TEST_F(ReplyReads, RdmaDoneAndCloseEndThem) {
  call(1);
  reply_with_reads(1);
  operate(kClient, roce::OpKind::kRead, reads[0].target);
  done(1);
  ASSERT_EQ(detected.read.size(), 1U);
  EXPECT_EQ(detected.read[0].moved, 100U);
  operate(kClient, roce::OpKind::kRead, reads[1].target);
  EXPECT_EQ(m().unmatched_operations, 1U);
  call(2);
  reply_with_reads(2);
  call(2);  // the XID is free
  reply_with_reads(2);
  ASSERT_EQ(detected.read.size(), 2U);
  model.on_close(connection);
  ASSERT_EQ(detected.read.size(), 3U);
  EXPECT_EQ(detected.read[2].moved, 0U);
}

TEST_F(ReplyReads, OneWithoutItsCallIsNotJoined) {
  reply_with_reads(1);
  operate(kClient, roce::OpKind::kRead, reads[0].target);
  done(1);
  EXPECT_TRUE(detected.read.empty());
  EXPECT_EQ(detected.messages.back().match, 0U);
}

TEST_F(ReplyReads, TheHeaderOfALongReplyIsKnownThen) {
  call(1);
  const auto rpc = rpc_reply(1, std::vector<std::uint8_t>(4));
  const wire::ReadSegment read{0, {5, static_cast<std::uint32_t>(rpc.size()), 0x1000}};
  wire::Header h = header(1, 32, wire::Proc::kNomsg);
  h.reads = {&read, 1};
  send(kServer, message(h));
  EXPECT_FALSE(detected.messages.back().rpc.header_seen);
  operate(kClient, roce::OpKind::kRead, read.target, rpc);
  ASSERT_EQ(detected.read.size(), 1U);
  EXPECT_TRUE(detected.read[0].rpc.header_seen);
  EXPECT_TRUE(detected.read[0].rpc.has_status);
}

TEST_F(ReplyReads, HowManyAreReadIsBounded) {
  options.max_outstanding = 3;
  Model small(observers, options);
  roce::Connection other;
  other.index = 1;
  small.on_open(other);
  for (std::uint32_t xid = 1; xid <= 10; ++xid) {
    roce::SendMessage send;
    wire::Header h = header(xid, 32);
    const auto asked = message(h, rpc_call(xid, 100003, 3, 1));
    send.data = asked;
    send.wire_length = asked.size();
    send.complete = true;
    send.frame = 2 * xid;
    small.on_send(other, send);
    h.reads = reads;
    const auto answer = message(h, rpc_reply(xid));
    send.sender = kServer;
    send.data = answer;
    send.wire_length = answer.size();
    send.frame = 2 * xid + 1;
    small.on_send(other, send);
  }
  EXPECT_EQ(detected.read.size(), 7U);
  small.on_close(other);
  EXPECT_EQ(detected.read.size(), 10U);
}

// RDMA2_OPTIONAL may carry an RPC message (draft-02 section 5.2.1).
TEST_F(ModelTest, AnOptionCanCarryAnRpcMessage) {
  const auto option = [](std::uint32_t xid, wire::MsgType direction, wire::Bytes payload) {
    wire::Header h = header(xid, 32, wire::Proc::kOptional);
    h.vers = 2;
    h.direction = direction;
    h.opttype = 9;
    return message(h, payload);
  };
  call(100);
  reply(100);
  detected.messages.clear();
  send(kClient, option(1, wire::MsgType::kCall, rpc_call(1, 100003, 3, 1)));
  send(kServer, option(1, wire::MsgType::kReply, rpc_reply(1, std::vector<std::uint8_t>(4))));
  ASSERT_EQ(detected.messages.size(), 2U);
  EXPECT_EQ(detected.messages[0].kind, Kind::kCall);
  EXPECT_EQ(detected.messages[1].kind, Kind::kReply);
  EXPECT_EQ(detected.messages[1].match, 3U);
  EXPECT_TRUE(detected.messages[1].rpc.has_status);
  EXPECT_EQ(m().options, 2U);
  // Another XID, or other data.
  send(kClient, option(2, wire::MsgType::kCall, rpc_call(3, 100003, 3, 1)));
  EXPECT_EQ(detected.messages.back().kind, Kind::kOption);
  send(kClient, option(4, wire::MsgType::kCall, std::vector<std::uint8_t>(64)));
  EXPECT_EQ(detected.messages.back().kind, Kind::kOption);
}

TEST_F(ModelTest, AHandleUsedAgainBelongsToTheNewestCallThatItFits) {
  const wire::Segment first{6, 100, 0x1000};
  const wire::Segment second{6, 100, 0x9000};
  for (const auto& [xid, segment] : {std::pair{1U, first}, std::pair{2U, second}}) {
    const wire::WriteChunk chunk(&segment, 1);
    wire::Header h = header(xid, 32);
    h.writes = {&chunk, 1};
    send(kClient, message(h, rpc_call(xid, 100003, 3, 6)));
  }
  operate(kServer, roce::OpKind::kWrite, first);
  operate(kServer, roce::OpKind::kWrite, second);
  reply(1);
  reply(2);
  EXPECT_EQ(detected.ended[0].operations, 1U);
  EXPECT_EQ(detected.ended[1].operations, 1U);
}

TEST_F(ModelTest, AnOperationThatEndsAfterItsCallTouchesNothing) {
  const wire::Segment segment{6, 100, 0x1000};
  const wire::WriteChunk chunk(&segment, 1);
  wire::Header h = header(1, 32);
  h.writes = {&chunk, 1};
  send(kClient, message(h, rpc_call(1, 100003, 3, 6)));
  roce::Operation op;
  op.initiator = kServer;
  op.handle = 6;
  op.offset = 0x1000;
  op.length = 100;
  model.on_operation(connection, op);
  reply(1);
  call(2);  // reuses the slot of the first
  model.on_operation_end(connection, op);
  reply(2);
  EXPECT_EQ(detected.ended[1].operations, 0U);
}

TEST_F(ModelTest, ALongCallIsIdentifiedByItsPositionZeroChunk) {
  const auto rpc = rpc_call(1, 100003, 3, 10);
  const wire::ReadSegment zero{0, {5, static_cast<std::uint32_t>(rpc.size()), 0x1000}};
  wire::Header h = header(1, 32, wire::Proc::kNomsg);
  h.reads = {&zero, 1};
  send(kClient, message(h));
  EXPECT_TRUE(detected.identified.empty());
  operate(kServer, roce::OpKind::kRead, zero.target, rpc);
  EXPECT_THAT(detected.identified, ElementsAre(100003U));
}

TEST_F(ModelTest, TheFrontOfALongCallIdentifiesItWhenNoMoreIsToBeSeen) {
  const auto rpc = rpc_call(1, 100003, 3, 10);
  const wire::ReadSegment segments[2] = {{0, {5, 400, 0x1000}}, {0, {6, 400, 0x2000}}};
  wire::Header h = header(1, 32, wire::Proc::kNomsg);
  h.reads = segments;
  send(kClient, message(h));
  operate(kServer, roce::OpKind::kRead, segments[0].target, rpc);
  EXPECT_TRUE(detected.identified.empty());
  operate(kServer, roce::OpKind::kRead, segments[1].target);
  EXPECT_THAT(detected.identified, ElementsAre(100003U));
}

TEST_F(ModelTest, ALongCallIsWhatItsEndpointSaysUntilItIsSeen) {
  const wire::ReadSegment segments[1] = {{0, {5, 400, 0x1000}}};
  wire::Header h = header(1, 32, wire::Proc::kNomsg);
  h.reads = segments;
  send(kClient, message(h));
  model.on_call_recorded({connection, kServer, 1, {100003, 3, 7}});  // not a Call of the server
  model.on_call_recorded({connection, kClient, 2, {100003, 3, 7}});
  model.on_call_recorded({connection, kClient, 1, {100005, 4, 8}});
  EXPECT_TRUE(detected.identified.empty());
  reply(1);
  ASSERT_FALSE(detected.messages.empty());
  EXPECT_EQ(detected.messages.back().rpc.program, 100005U);
  EXPECT_EQ(detected.messages.back().rpc.version, 4U);
  EXPECT_EQ(detected.messages.back().rpc.procedure, 8U);

  h = header(3, 32, wire::Proc::kNomsg);
  h.reads = segments;
  send(kClient, message(h));
  model.on_call_recorded({connection, kClient, 3, {100005, 4, 8}});
  operate(kServer, roce::OpKind::kRead, segments[0].target, rpc_call(3, 100003, 3, 10));
  EXPECT_THAT(detected.identified, ElementsAre(100003U));
  model.on_call_recorded({connection, kClient, 3, {100005, 4, 8}});
  reply(3);
  EXPECT_EQ(detected.messages.back().rpc.program, 100003U);
}

TEST_F(ModelTest, ErrorsAnswerCallsAndGrantNothing) {
  call(1);
  wire::Header h = header(1, 99, wire::Proc::kError);
  h.error = wire::RdmaErr::kChunk;
  send(kServer, message(h));
  EXPECT_EQ(detected.ended[0].ending, Ending::kError);
  EXPECT_EQ(m().caller[kClient].errors, 1U);
  // The credit word of an RDMA_ERROR has no meaning (FC-06).
  EXPECT_EQ(m().caller[kClient].credits.granted, 0U);
}

TEST_F(ModelTest, AnXidThatComesAgainEndsTheOldCall) {
  call(1);
  call(1);
  ASSERT_EQ(detected.ended.size(), 1U);
  EXPECT_EQ(detected.ended[0].ending, Ending::kSuperseded);
  reply(1);
  EXPECT_EQ(detected.messages[2].match, 2U);
}

TEST_F(ModelTest, ReplyWithoutItsCall) {
  reply(5);
  EXPECT_EQ(detected.messages[0].match, 0U);
  EXPECT_EQ(m().caller[kClient].unmatched_replies, 1U);
  EXPECT_EQ(m().client, kClient);
}

TEST_F(ModelTest, CloseEndsWhatIsOutstandingInOrder) {
  for (const std::uint32_t xid : {3U, 1U, 2U}) call(xid);
  model.on_close(connection);
  ASSERT_EQ(detected.ended.size(), 3U);
  EXPECT_EQ(detected.ended[0].xid, 3U);
  EXPECT_EQ(detected.ended[2].xid, 2U);
  EXPECT_EQ(detected.ended[0].ending, Ending::kClosed);
  EXPECT_EQ(m().caller[kClient].unmatched_calls, 3U);
}

TEST_F(ModelTest, MalformedOnlyOnAConnectionThatSpeaksTheProtocol) {
  const std::vector<std::uint8_t> broken = message(header(1, 32));
  std::vector<std::uint8_t> bad = broken;
  bad[15] = 9;  // rdma_proc
  send(kClient, bad);
  EXPECT_TRUE(detected.messages.empty());
  call(1);
  send(kClient, bad);
  ASSERT_EQ(detected.messages.size(), 2U);
  EXPECT_EQ(detected.messages[1].kind, Kind::kMalformed);
  EXPECT_EQ(m().malformed, 1U);
}

TEST_F(ModelTest, ManySendsOfSomethingElse) {
  std::vector<std::uint8_t> other(64, 0xee);
  for (int i = 0; i < 16; ++i) send(kClient, other);
  EXPECT_EQ(m().speaks, Speaks::kOther);
}

// The front of a Call with a long chunk list is too little to recognise it.
TEST_F(ModelTest, FrontsOfSendsShowNothing) {
  auto front = message(header(1, 64), rpc_reply(1));
  front.resize(30);
  for (int i = 0; i < 40; ++i) send(kClient, front, false);
  EXPECT_EQ(m().speaks, Speaks::kUnknown);
}

TEST_F(ModelTest, WhatTheCaptureCutShortIsNotMalformed) {
  call(1);
  auto bytes = message(header(1, 64), rpc_reply(1));
  bytes.resize(20);
  send(kServer, bytes, false);
  EXPECT_EQ(detected.messages[1].kind, Kind::kReply);
  EXPECT_EQ(detected.messages[1].match, 1U);
}

TEST_F(ModelTest, TheFrontThatAnEndpointShowsIsNotCutShort) {
  Message m;
  m.complete = false;
  m.header_length = 28;
  EXPECT_TRUE(cut_short(m, connection));
  connection.recorded = true;
  EXPECT_FALSE(cut_short(m, connection));
  m.header_length = 0;
  EXPECT_TRUE(cut_short(m, connection));
  m.absent = roce::kAbsentBytes;  // the source has none
  EXPECT_FALSE(cut_short(m, connection));
  m.absent = 0;
  m.complete = true;
  EXPECT_FALSE(cut_short(m, connection));
}

TEST_F(ModelTest, LessThanAPrefixSaysNothing) {
  call(1);
  auto bytes = message(header(1, 64), rpc_reply(1));
  bytes.resize(12);
  send(kServer, bytes, false);
  EXPECT_EQ(detected.messages.size(), 1U);
  EXPECT_EQ(m().malformed, 0U);
}

TEST_F(ModelTest, ACutShortMessageOfTheServerIsAReplyThoughItsCallIsUnknown) {
  call(1);
  auto bytes = message(header(2, 64), rpc_reply(2));
  bytes.resize(20);
  send(kServer, bytes, false);
  EXPECT_EQ(detected.messages[1].kind, Kind::kReply);
  EXPECT_EQ(m().caller[kServer].calls, 0U);
}

TEST_F(ModelTest, OutstandingCallsAreBounded) {
  ModelOptions few;
  few.max_outstanding = 10;
  Model small(observers, few);
  small.on_open(connection);
  for (std::uint32_t xid = 1; xid <= 25; ++xid) {
    const auto bytes = message(header(xid, 128), rpc_call(xid, 100003, 3, 1));
    roce::SendMessage s;
    s.data = bytes;
    s.wire_length = bytes.size();
    small.on_send(connection, s);
  }
  EXPECT_EQ(detected.ended.size(), 15U);
  EXPECT_EQ(detected.ended[0].xid, 1U);
  EXPECT_EQ(detected.ended[0].ending, Ending::kForgotten);
}

TEST_F(ModelTest, WhatOutstandingCallsTakeIsBoundedOverAllConnections) {
  ModelOptions little;
  little.max_outstanding_bytes = 64 << 10;
  Model small(observers, little);
  for (std::uint32_t xid = 1; xid <= 1000; ++xid) {
    roce::Connection of;
    of.index = xid % 50;
    const auto bytes = message(header(xid, 128), rpc_call(xid, 100003, 3, 1));
    roce::SendMessage s;
    s.data = bytes;
    s.wire_length = bytes.size();
    small.on_send(of, s);
  }
  const std::size_t open = 1000 - detected.ended.size();
  EXPECT_GT(open, 10U);
  EXPECT_LT(open, 200U);
  for (std::uint32_t i = 0; i < detected.ended.size(); ++i) {
    EXPECT_EQ(detected.ended[i].xid, i + 1);
    EXPECT_EQ(detected.ended[i].ending, Ending::kForgotten);
  }
}

TEST_F(ModelTest, OneThatWasEvictedIsForgotten) {
  call(1);
  model.on_close(connection);
  model.on_evict(connection);
  EXPECT_EQ(m().messages, 0U);
  EXPECT_EQ(detected.ended.size(), 1U);
}

TEST_F(ModelTest, MergedDirectionsContinueAsOneConnection) {
  // Connection 1 is the opposite direction: its side 0 is our server.
  roce::Connection back;
  back.index = 1;
  model.on_open(back);
  call(1);
  roce::SendMessage s;
  const auto bytes = message(header(5, 2), rpc_call(5, 0x40000000, 1, 1));
  s.data = bytes;
  s.wire_length = bytes.size();
  model.on_send(back, s);
  model.on_merge({connection, back});
  EXPECT_EQ(model.canonical(1), 0U);
  reply(1);
  reply(5, kClient, 16);
  EXPECT_EQ(m().caller[kClient].replies, 1U);
  EXPECT_EQ(m().caller[kServer].replies, 1U);
  EXPECT_EQ(m().messages, 4U);
  EXPECT_EQ(m().caller[kServer].credits.requested, 2U);
}

}  // namespace
}  // namespace rpcrdma::model
