#include "messages_for_tests.h"

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
Call msg_call(const std::vector<std::uint8_t>& rpc) {
  Call call;
  call.message.bytes = message(header(1, 32), rpc);
  call.message.header_length = 28;
  call.message.rpc.known = true;
  call.message.rpc.program = 100003;
  call.message.rpc.version = 3;
  return call;
}

TEST(Rebuild, InlineCallIsItsPayload) {
  const auto rpc = rpc_call(1, 100003, 3, 1, words({1, 2, 3}));
  const Rebuilt r = rebuild_call(msg_call(rpc));
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.bytes, rpc);
}

TEST(Rebuild, ReadChunkGoesToItsPositionWithRoundup) {
  // Two words, a count of 5 with its data in a chunk, one more word.
  const auto rpc = rpc_call(1, 100003, 3, 7, words({1, 2, 5, 9}));
  Call call = msg_call(rpc);
  const auto position = static_cast<std::uint32_t>(rpc.size() - 4);
  call.chunks.push_back(chunk_of(ChunkList::kRead, position, {'h', 'e', 'l', 'l', 'o'}, 5));
  const Rebuilt r = rebuild_call(call);
  EXPECT_TRUE(r.complete);
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
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(std::string(r.bytes.begin() + first, r.bytes.begin() + first + 4), "abcd");
  EXPECT_EQ(std::string(r.bytes.begin() + first + 8, r.bytes.begin() + first + 12), "efgh");
  EXPECT_EQ(wire::load_be32(&r.bytes[first + 12]), 7U);
}

TEST(Rebuild, LongCallComesFromPositionZero) {
  const auto rpc = rpc_call(1, 100003, 3, 10, words({1, 2}));
  Call call;
  call.message.proc = 1;
  call.chunks.push_back(chunk_of(ChunkList::kRead, 0, rpc, rpc.size()));
  EXPECT_EQ(rebuild_call(call).bytes, rpc);
  EXPECT_TRUE(rebuild_call(call).complete);
  call.chunks[0].length += 4;
  EXPECT_FALSE(rebuild_call(call).complete);
}

TEST(Rebuild, MissingBytesAndPositionsOutsideMakeItIncomplete) {
  const auto rpc = rpc_call(1, 100003, 3, 7, words({5}));
  Call call = msg_call(rpc);
  call.chunks.push_back(
      chunk_of(ChunkList::kRead, static_cast<std::uint32_t>(rpc.size()), {'h', 'e'}, 5));
  EXPECT_FALSE(rebuild_call(call).complete);
  call.chunks[0] = chunk_of(ChunkList::kRead, 0xfffffff0, {'h'}, 1);
  const Rebuilt r = rebuild_call(call);
  EXPECT_FALSE(r.complete);
  EXPECT_EQ(r.bytes, rpc);
}

// NFSv3 READ: status, no attributes, count, eof, length of data that went by Write chunk.
TEST(Rebuild, WriteChunkGoesBehindTheCountOfItsItem) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  CallChunk chunk = chunk_of(ChunkList::kWrite, 0, {'h', 'e', 'l', 'l', 'o'}, 100);
  call.chunks.push_back(chunk);
  const auto rpc = rpc_reply(1, words({0, 0, 5, 1, 5}));
  Message reply;
  reply.header_length = 28;
  reply.bytes = message(header(1, 32), rpc);
  reply.write_counts = {1};
  reply.write_segments = {{6, 5, 0x1000}};
  const Rebuilt r = rebuild_reply(call, reply);
  EXPECT_TRUE(r.complete);
  EXPECT_FALSE(r.guessed);
  ASSERT_EQ(r.bytes.size(), rpc.size() + 8);
  EXPECT_EQ(std::string(r.bytes.end() - 8, r.bytes.end() - 3), "hello");
  EXPECT_EQ(result_payload_length(call, call.chunks[0], reply), 5U);
}

TEST(Rebuild, RoundupThatTheResponderCountedIsNotPayload) {
  Call call = msg_call(rpc_call(1, 100003, 3, 6));
  call.message.rpc.procedure = 6;
  call.chunks.push_back(chunk_of(ChunkList::kWrite, 0, {'h', 'e', 'l', 'l', 'o', 0, 0, 0}, 100));
  Message reply;
  reply.header_length = 28;
  reply.bytes = message(header(1, 32), rpc_reply(1, words({0, 0, 5, 1, 5})));
  reply.write_counts = {1};
  reply.write_segments = {{6, 8, 0x1000}};
  EXPECT_EQ(result_payload_length(call, call.chunks[0], reply), 5U);
}

TEST(Rebuild, LongReplyIsTheReplyChunkAsFarAsWritten) {
  const auto rpc = rpc_reply(1, words({1, 2, 3}));
  Call call = msg_call(rpc_call(1, 100003, 3, 16));
  call.chunks.push_back(chunk_of(ChunkList::kReply, 0, rpc, 4096));
  Message reply;
  reply.proc = 1;
  reply.has_reply_chunk = true;
  reply.reply_segments = {{6, static_cast<std::uint32_t>(rpc.size()), 0x1000}};
  const Rebuilt r = rebuild_reply(call, reply);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.bytes, rpc);
}

}  // namespace
}  // namespace rpcrdma::model
