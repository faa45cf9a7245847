// Tests of rebuilt RPC messages, and of the reasons why one is incomplete.
#include "support/rpc_messages.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::model {
namespace {

using namespace testing;

std::vector<std::uint8_t> words(std::initializer_list<std::uint32_t> values) {
  std::vector<std::uint8_t> bytes(values.size() * 4);
  std::size_t at = 0;
  for (const std::uint32_t v : values) wire::store_be32(&bytes[4 * at++], v);
  return bytes;
}

CallChunk chunk_of(ChunkList list, std::uint32_t position, const std::vector<std::uint8_t>& data,
                   std::uint64_t length) {
  CallChunk c;
  c.list = list;
  c.position = position;
  c.length = length;
  c.moved = data.size();
  c.data.store(0, data);
  return c;
}

// An RDMA_MSG whose bytes are header and payload.
Message msg(Kind kind, const std::vector<std::uint8_t>& rpc) {
  Message m;
  m.kind = kind;
  m.version = 1;
  m.bytes = message(header(1, 32), rpc);
  m.header_length = 28;
  m.wire_length = m.bytes.size();
  return m;
}

Call msg_call(const std::vector<std::uint8_t>& rpc) {
  Call call;
  call.message = msg(Kind::kCall, rpc);
  call.message.rpc.known = true;
  call.message.rpc.program = 100003;
  call.message.rpc.version = 3;
  return call;
}

TEST(Rebuild, InlineCallIsItsPayload) {
  const auto rpc = rpc_call(1, 100003, 3, 1, words({1, 2, 3}));
  const Rebuilt r = rebuild_call(msg_call(rpc));
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(r.bytes, rpc);
}

TEST(Rebuild, ReadChunkGoesToItsPositionWithRoundup) {
  // Two words, a count of 5 with its data in a chunk, one more word.
  const auto rpc = rpc_call(1, 100003, 3, 7, words({1, 2, 5, 9}));
  Call call = msg_call(rpc);
  const auto position = static_cast<std::uint32_t>(rpc.size() - 4);
  call.chunks.push_back(chunk_of(ChunkList::kRead, position, {'h', 'e', 'l', 'l', 'o'}, 5));
  const Rebuilt r = rebuild_call(call);
  EXPECT_TRUE(r.complete());
  ASSERT_EQ(r.bytes.size(), rpc.size() + 8);
  EXPECT_EQ(std::string(r.bytes.begin() + position, r.bytes.begin() + position + 5), "hello");
  EXPECT_EQ(r.bytes[position + 5], 0);
  EXPECT_EQ(wire::load_be32(&r.bytes[position + 8]), 9U);
}

TEST(Rebuild, SecondReadChunksPositionCountsTheFirstOnesBytes) {
  const auto rpc = rpc_call(1, 100003, 3, 7, words({4, 4, 7}));
  Call call = msg_call(rpc);
  const auto first = static_cast<std::uint32_t>(rpc.size() - 8);
  call.chunks.push_back(chunk_of(ChunkList::kRead, first, {'a', 'b', 'c', 'd'}, 4));
  call.chunks.push_back(chunk_of(ChunkList::kRead, first + 8, {'e', 'f', 'g', 'h'}, 4));
  const Rebuilt r = rebuild_call(call);
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(std::string(r.bytes.begin() + first, r.bytes.begin() + first + 4), "abcd");
  EXPECT_EQ(std::string(r.bytes.begin() + first + 8, r.bytes.begin() + first + 12), "efgh");
  EXPECT_EQ(wire::load_be32(&r.bytes[first + 12]), 7U);
}

TEST(Rebuild, LongCallComesFromPositionZero) {
  const auto rpc = rpc_call(1, 100003, 3, 10, words({1, 2}));
  Call call = msg_call({});
  call.message.proc = 1;
  call.message.reads = {{0, {1, static_cast<std::uint32_t>(rpc.size()), 0}}};
  call.chunks.push_back(chunk_of(ChunkList::kRead, 0, rpc, rpc.size()));
  EXPECT_EQ(rebuild_call(call).bytes, rpc);
  EXPECT_TRUE(rebuild_call(call).complete());
  call.chunks[0].length += 4;
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kNotMoved);
  call.chunks[0].moved += 4;
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kNotSeen);
  call.chunks[0].truncated = true;
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kNotKept);
}

TEST(Rebuild, MissingBytesAndPositionsOutsideMakeItIncomplete) {
  const auto rpc = rpc_call(1, 100003, 3, 7, words({5}));
  Call call = msg_call(rpc);
  call.chunks.push_back(
      chunk_of(ChunkList::kRead, static_cast<std::uint32_t>(rpc.size()), {'h', 'e'}, 5));
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kNotMoved);
  call.chunks[0] = chunk_of(ChunkList::kRead, 0xfffffff0, {'h'}, 1);
  const Rebuilt r = rebuild_call(call);
  EXPECT_EQ(r.incomplete, Incomplete::kPosition);
  EXPECT_EQ(r.bytes, rpc);
  call.chunks[0] = chunk_of(ChunkList::kRead, static_cast<std::uint32_t>(rpc.size() - 2), {'h'}, 1);
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kPosition);
}

// NFSv3 READ: status, no attributes, count, eof, length of the data in a Write chunk.
TEST(Rebuild, WriteChunkGoesBehindTheCountOfItsItem) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  CallChunk chunk = chunk_of(ChunkList::kWrite, 0, {'h', 'e', 'l', 'l', 'o'}, 100);
  call.chunks.push_back(chunk);
  const auto rpc = rpc_reply(1, words({0, 0, 5, 1, 5}));
  Message reply = msg(Kind::kReply, rpc);
  reply.write_counts = {1};
  reply.write_segments = {{6, 5, 0x1000}};
  const Rebuilt r = rebuild_reply(call, reply);
  EXPECT_TRUE(r.complete());
  EXPECT_FALSE(r.guessed);
  ASSERT_EQ(r.bytes.size(), rpc.size() + 8);
  EXPECT_EQ(std::string(r.bytes.end() - 8, r.bytes.end() - 3), "hello");
  EXPECT_EQ(result_payload_length(call, call.chunks[0], reply), 5U);
}

TEST(Rebuild, RoundupThatTheResponderCountedIsNotPayload) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  call.chunks.push_back(chunk_of(ChunkList::kWrite, 0, {'h', 'e', 'l', 'l', 'o', 0, 0, 0}, 100));
  Message reply = msg(Kind::kReply, rpc_reply(1, words({0, 0, 5, 1, 5})));
  reply.write_counts = {1};
  reply.write_segments = {{6, 8, 0x1000}};
  EXPECT_EQ(result_payload_length(call, call.chunks[0], reply), 5U);
}

TEST(Rebuild, LongReplyIsTheReplyChunkAsFarAsWritten) {
  const auto rpc = rpc_reply(1, words({1, 2, 3}));
  Call call = msg_call(rpc_call(1, 100003, 3, 16));
  call.chunks.push_back(chunk_of(ChunkList::kReply, 0, rpc, 4096));
  Message reply = msg(Kind::kReply, {});
  reply.proc = 1;
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kNoChunk);
  reply.has_reply_chunk = true;
  reply.reply_segments = {{6, static_cast<std::uint32_t>(rpc.size()), 0x1000}};
  const Rebuilt r = rebuild_reply(call, reply);
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(r.bytes, rpc);
  reply.reply_segments[0].length = 0;
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kNoChunk);
}

// RFC 5666 section 3.9: 60 bytes of padding before an item of 600 bytes.
TEST(Rebuild, AnRdmaMsgpMayHaveMoreInItThanItsMessage) {
  Call call = msg_call(rpc_call(1, 100003, 3, 7, std::vector<std::uint8_t>(700)));
  call.message.proc = 2;
  call.message.align = 64;
  call.message.thresh = 512;
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kPadded);
  EXPECT_STREQ(incomplete_reason(Incomplete::kPadded), "padded by RDMA_MSGP, not rebuilt");
  EXPECT_TRUE(reduced_arguments(call).arguments.empty());
  Message reply = msg(Kind::kReply, rpc_reply(1, std::vector<std::uint8_t>(700)));
  reply.proc = 2;
  reply.align = 64;
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kPadded);
  // Nothing in it is long enough to be padded.
  call.message.thresh = 2000;
  EXPECT_TRUE(rebuild_call(call).complete());
  call.message.thresh = 512;
  for (const std::uint32_t align : {0U, 1U, 2U, 4U}) {
    call.message.align = align;
    EXPECT_TRUE(rebuild_call(call).complete()) << align;
  }
}

// Adds the Reply's Read chunks as the model does, with their data.
void read_chunk(Call& call, Message& reply, std::uint32_t position, const std::string& data) {
  const auto length = static_cast<std::uint32_t>(data.size());
  reply.reads.push_back({position, {7, length, 0x2000}});
  call.chunks.push_back(
      chunk_of(ChunkList::kReplyRead, position, {data.begin(), data.end()}, length));
  call.reply = std::make_shared<Message>(reply);
}

std::string text_at(const Rebuilt& r, std::size_t offset, std::size_t length) {
  return r.bytes.size() < offset + length
             ? std::string()
             : std::string(r.bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                           r.bytes.begin() + static_cast<std::ptrdiff_t>(offset + length));
}

TEST(Rebuild, AReplyIsWholeWhenItsReadChunksWereRead) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  const auto rpc = rpc_reply(1, words({0, 0, 5, 1, 5}));
  const auto position = static_cast<std::uint32_t>(rpc.size());
  Message reply = msg(Kind::kReply, rpc);
  reply.reads = {{position, {7, 5, 0x2000}}};
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kReplyReads);
  reply.reads.clear();
  read_chunk(call, reply, position, "hello");
  const Rebuilt r = rebuild_reply(call, reply);
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(r.bytes.size(), rpc.size() + 8);
  EXPECT_EQ(text_at(r, position, 5), "hello");
  call.chunks.back().data.clear();
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kNotSeen);
  call.chunks.back().moved = 4;
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kNotMoved);
}

TEST(Rebuild, ALongReplyCanBeRead) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  const auto rpc = rpc_reply(1, words({0, 0, 5, 1, 0}));
  Message reply = msg(Kind::kReply, {});
  reply.proc = 1;
  read_chunk(call, reply, 0, {rpc.begin(), rpc.end()});
  const Rebuilt r = rebuild_reply(call, reply);
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(r.bytes, rpc);
  reply.proc = 0;  // and a message in the Send
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kTwoMessages);
}

// COMPOUND with two READs: the data of the first in a Write chunk, that of the second in a Read
// chunk, whose Position counts both.
TEST(Rebuild, AReplyCanHaveWriteChunksAndReadChunks) {
  for (const bool swapped : {false, true}) {
    Call call = msg_call(rpc_call(1, 100003, 4, 1));
    call.message.rpc.version = 4;
    call.message.rpc.procedure = 1;
    const std::uint32_t first = swapped ? 4 : 5, second = swapped ? 5 : 4;
    const auto rpc = rpc_reply(1, words({0, 0, 2, 25, 0, 0, first, 25, 0, 1, second}));
    Message reply = msg(Kind::kReply, rpc);
    reply.write_counts = {1, 1};
    reply.write_segments = {{6, swapped ? 0U : 5U, 0x1000}, {8, swapped ? 5U : 0U, 0x3000}};
    CallChunk written = chunk_of(ChunkList::kWrite, 0, {'h', 'e', 'l', 'l', 'o'}, 100);
    written.index = swapped ? 1 : 0;
    call.chunks.push_back(written);
    const auto first_at = static_cast<std::uint32_t>(rpc.size() - 16);
    const std::uint32_t second_at = first_at + 16 + (swapped ? 4 : 8);
    read_chunk(call, reply, swapped ? first_at : second_at, "four");
    const Rebuilt r = rebuild_reply(call, reply);
    EXPECT_TRUE(r.complete()) << incomplete_reason(r.incomplete);
    ASSERT_EQ(r.bytes.size(), rpc.size() + 12);
    EXPECT_EQ(text_at(r, first_at, first), swapped ? "four" : "hello");
    EXPECT_EQ(text_at(r, second_at, second), swapped ? "hello" : "four");
    EXPECT_EQ(wire::load_be32(&r.bytes[second_at - 4]), second);
    // The lengths without roundup.
    EXPECT_EQ(result_payload_length(call, call.chunks[0], reply), 5U);
    EXPECT_EQ(result_payload_length(call, call.chunks[1], reply), 4U);
  }
}

TEST(Rebuild, RoundupInAReadChunkOfAReplyIsNoPayload) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  const auto rpc = rpc_reply(1, words({0, 0, 5, 1, 5}));
  Message reply = msg(Kind::kReply, rpc);
  read_chunk(call, reply, static_cast<std::uint32_t>(rpc.size()), "hello...");
  EXPECT_EQ(result_payload_length(call, call.chunks[0], reply), 5U);
}

TEST(Rebuild, PositionsOfAReplyMayBeWrong) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  const auto rpc = rpc_reply(1, words({0, 0, 5, 1, 5}));
  for (const std::uint32_t position : {4U, 23U, 4000U, 0xfffffffcU}) {
    Message reply = msg(Kind::kReply, rpc);
    call.chunks.clear();
    read_chunk(call, reply, position, "hello");
    const Rebuilt r = rebuild_reply(call, reply);
    if (position == 4) continue;  // inside the message: nothing contradicts it
    EXPECT_EQ(r.incomplete, Incomplete::kPosition) << position;
    EXPECT_EQ(r.bytes, rpc) << position;
  }
}

TEST(Rebuild, ReadListsInAnyOrder) {
  const auto rpc = rpc_call(1, 100003, 3, 7, words({8, 8, 7}));
  Call call = msg_call(rpc);
  const auto first = static_cast<std::uint32_t>(rpc.size() - 8);
  const std::uint32_t second = first + 12;
  // Segments of two Positions, one of each in turn.
  for (const auto& [position, data] :
       {std::pair{second, "efgh"}, {first, "abcd"}, {second, "ijkl"}, {first, "mnop"}}) {
    call.chunks.push_back(chunk_of(ChunkList::kRead, position, {data, data + 4}, 4));
  }
  const Rebuilt r = rebuild_call(call);
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(text_at(r, first, 8), "abcdmnop");
  EXPECT_EQ(text_at(r, second, 8), "efghijkl");
}

TEST(Rebuild, APartOfAMessageIsNotTheMessage) {
  Call call = msg_call({1, 2, 3, 4});
  call.message.last_part = true;
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kOtherParts);
}

TEST(Rebuild, AMessageIsInlineOrInItsChunk) {
  Call call = msg_call(rpc_call(1, 100003, 3, 0));
  call.message.reads = {{0, {1, 4, 0}}};
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kTwoMessages);
  call.message.proc = 1;
  call.message.reads.clear();
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kNoChunk);
}

TEST(Rebuild, ReadChunksAreListedInAnyOrder) {
  const auto rpc = rpc_call(1, 100003, 3, 7, words({3, 6, 7}));
  Call call = msg_call(rpc);
  const auto first = static_cast<std::uint32_t>(rpc.size() - 8);
  // The chunk at `first + 8` appears in two places of the list.
  call.chunks.push_back(chunk_of(ChunkList::kRead, first + 8, {'e', 'f', 'g'}, 3));
  call.chunks.push_back(chunk_of(ChunkList::kRead, first, {'a', 'b', 'c'}, 3));
  call.chunks.push_back(chunk_of(ChunkList::kRead, first + 8, {'h', 'i', 'j'}, 3));
  const Rebuilt r = rebuild_call(call);
  EXPECT_TRUE(r.complete());
  ASSERT_EQ(r.bytes.size(), rpc.size() + 12);
  EXPECT_EQ(std::string(r.bytes.begin() + first, r.bytes.begin() + first + 3), "abc");
  EXPECT_EQ(std::string(r.bytes.begin() + first + 8, r.bytes.begin() + first + 14), "efghij");
  EXPECT_EQ(wire::load_be32(&r.bytes[first + 16]), 7U);
  const ReducedArguments reduced = reduced_arguments(call);
  ASSERT_EQ(reduced.removed.size(), 2U);
  EXPECT_EQ(reduced.removed[0].offset, 4U);
  EXPECT_EQ(reduced.removed[0].length, 3U);
  EXPECT_EQ(reduced.removed[1].offset, 8U);
  EXPECT_EQ(reduced.removed[1].length, 6U);
  EXPECT_EQ(read_payload_length(call, call.chunks[1]), 3U);
}

TEST(Rebuild, AReadChunkInsideAnotherIsNowhere) {
  const auto rpc = rpc_call(1, 100003, 3, 7, words({8, 7}));
  Call call = msg_call(rpc);
  const auto first = static_cast<std::uint32_t>(rpc.size() - 4);
  call.chunks.push_back(chunk_of(ChunkList::kRead, first, std::vector<std::uint8_t>(8), 8));
  call.chunks.push_back(chunk_of(ChunkList::kRead, first + 4, {1, 2, 3, 4}, 4));
  EXPECT_EQ(rebuild_call(call).incomplete, Incomplete::kPosition);
  // Parsers stop here: no item begins there.
  const ReducedArguments reduced = reduced_arguments(call);
  ASSERT_EQ(reduced.removed.size(), 2U);
  EXPECT_EQ(reduced.removed[1].offset % 4, 1U);
}

// RFC 8166 section 3.4.6: the segments of a chunk are filled one after the other.
TEST(Rebuild, AGapInAChunkIsTheRespondersFault) {
  const auto rpc = rpc_reply(1, words({0, 0, 8, 1, 8}));
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  call.message.reply_segments = {{5, 64, 0}, {6, 64, 0}};
  call.chunks.push_back(chunk_of(ChunkList::kReply, 0, std::vector<std::uint8_t>(128), 128));
  Message reply = msg(Kind::kReply, {});
  reply.proc = 1;
  reply.has_reply_chunk = true;
  reply.reply_segments = {{5, 32, 0}, {6, 16, 0}};
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kGap);
  EXPECT_EQ(unfit_for_rebuild(reply, &call), Incomplete::kGap);
  EXPECT_STREQ(incomplete_reason(Incomplete::kGap), "the responder left a gap in a chunk");
  reply.reply_segments = {{5, 80, 0}, {6, 16, 0}};
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kOverrun);
  reply.reply_segments = {{5, 64, 0}, {6, 16, 0}};
  EXPECT_TRUE(rebuild_reply(call, reply).complete());

  call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  call.message.write_counts = {1, 2};
  call.message.write_segments = {{4, 100, 0}, {5, 4, 0}, {6, 100, 0}};
  CallChunk unused = chunk_of(ChunkList::kWrite, 0, {}, 100);
  CallChunk used = chunk_of(ChunkList::kWrite, 0, std::vector<std::uint8_t>(8), 104);
  used.index = 1;
  call.chunks = {unused, used};
  reply = msg(Kind::kReply, rpc);
  reply.write_counts = {1, 2};
  reply.write_segments = {{4, 0, 0}, {5, 2, 0}, {6, 6, 0}};
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kGap);
}

TEST(Rebuild, WhatWasWrittenAndNotReturnedBelongsNowhere) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  call.message.write_counts = {1};
  call.message.write_segments = {{6, 100, 0}};
  call.chunks.push_back(chunk_of(ChunkList::kWrite, 0, {'h', 'e', 'l', 'l', 'o'}, 100));
  const Message reply = msg(Kind::kReply, rpc_reply(1, words({0, 0, 5, 1, 5})));
  EXPECT_EQ(rebuild_reply(call, reply).incomplete, Incomplete::kNotReturned);
  call.chunks[0].moved = 0;
  EXPECT_TRUE(rebuild_reply(call, reply).complete());
}

TEST(Rebuild, WhoeverLostWhatIsMissingIsSaid) {
  roce::Connection connection;
  const auto reason = [&](Incomplete why) {
    return std::string(incomplete_reason(why, &connection));
  };
  EXPECT_EQ(reason(Incomplete::kNotSeen), "incomplete in the capture");
  EXPECT_EQ(reason(Incomplete::kNotMoved), "RDMA operations moved only a part of it");
  connection.side[0].counters.lost_capture = 1;
  EXPECT_EQ(reason(Incomplete::kNotMoved), "incomplete in the capture");
  connection.recorded = true;
  EXPECT_EQ(reason(Incomplete::kNotMoved), "incomplete in the recording");
  EXPECT_EQ(incomplete_reason(Incomplete::kNo), nullptr);
}

}  // namespace
}  // namespace rpcrdma::model
