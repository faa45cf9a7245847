#include "support/rpc_messages.h"

#include <gtest/gtest.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/model/predecode.h>

namespace rpcrdma::model {
namespace {

using namespace testing;

TEST(Early, ACall) {
  const auto send = message(header(7, 32), rpc_call(7, 100003, 3, 6));
  PredecodedSend predecoded;
  predecode(send, predecoded);
  ASSERT_TRUE(predecoded.header && predecoded.rpc);
  EXPECT_EQ(predecoded.header->xid, 7U);
  EXPECT_EQ(predecoded.rpc->call.proc, 6U);
  EXPECT_EQ(predecoded.digest, digest_of(wire::Bytes(send).subspan(predecoded.header->length)));
  ASSERT_TRUE(predecoded.ops);
  EXPECT_EQ(predecoded.ops->kept, 0U);  // not a COMPOUND
}

// The arguments are reduced: only the model knows what was removed from them.
TEST(Early, ACallWithReadChunksKeepsItsOperationsForLater) {
  const wire::ReadSegment read{64, {1, 4096, 0x1000}};
  wire::Header h = header(7, 32);
  h.reads = {&read, 1};
  PredecodedSend predecoded;
  predecode(message(h, rpc_call(7, 100003, 4, 1)), predecoded);
  ASSERT_TRUE(predecoded.header && predecoded.rpc);
  EXPECT_FALSE(predecoded.ops);
}

// The same with padding in them.
TEST(Early, AnRdmaMsgpKeepsItsOperationsForLater) {
  PredecodedSend predecoded;
  predecode(message(header(7, 32, wire::Proc::kMsgp), rpc_call(7, 100003, 4, 1)), predecoded);
  ASSERT_TRUE(predecoded.header && predecoded.rpc);
  EXPECT_FALSE(predecoded.ops);
}

TEST(Early, AReplyHasNoDigest) {
  PredecodedSend predecoded;
  predecode(message(header(7, 32), rpc_reply(7)), predecoded);
  ASSERT_TRUE(predecoded.header && predecoded.rpc);
  EXPECT_EQ(predecoded.rpc->type, wire::MsgType::kReply);
  EXPECT_EQ(predecoded.digest, 0U);
}

// The same object is reused for each message.
TEST(Early, NothingIsLeftOfTheMessageBefore) {
  PredecodedSend predecoded;
  predecode(message(header(7, 32), rpc_call(7, 100003, 4, 0)), predecoded);
  const std::vector<std::uint8_t> other(40, 0xff);
  predecode(other, predecoded);
  EXPECT_FALSE(predecoded.header);
  EXPECT_EQ(predecoded.digest, 0U);
  EXPECT_FALSE(predecoded.ops);
}

// A resent Call may differ only in its XID.
TEST(Early, TheDigestIsOfAllButTheXid) {
  const auto body = [](std::uint32_t xid, std::uint32_t procedure) {
    return digest_of(rpc_call(xid, 100003, 3, procedure));
  };
  EXPECT_EQ(body(7, 6), body(8, 6));
  EXPECT_NE(body(7, 6), body(7, 7));
  // All lengths up to the point where all its read widths are in use.
  for (std::size_t length = 5; length < 48; ++length) {
    std::vector<std::uint8_t> bytes(length, 1);
    const std::uint64_t before = digest_of(bytes);
    for (std::size_t at = 4; at < length; ++at) {
      bytes[at] ^= 0x80;
      EXPECT_NE(digest_of(bytes), before) << length << " " << at;
      bytes[at] ^= 0x80;
    }
  }
}

TEST(KeptItemsTest, KnowsWhetherItKeptAll) {
  struct Passed final : decode::NfsItemSink {
    std::vector<decode::NfsItem> all;
    void item(const decode::NfsItem& item) override { all.push_back(item); }
  };
  using Kind = decode::NfsItem::Kind;
  KeptItems items;
  for (std::uint32_t i = 0; i < 8; ++i) items.item({Kind::kOffset, i, i * 4, 8, 1ULL << 40});
  EXPECT_TRUE(items.complete());
  Passed passed;
  items.pass_to(passed);
  ASSERT_EQ(passed.all.size(), 8U);
  EXPECT_EQ(passed.all[7].kind, Kind::kOffset);
  EXPECT_EQ(passed.all[7].operation, 7U);
  EXPECT_EQ(passed.all[7].offset, 28U);
  EXPECT_EQ(passed.all[7].length, 8U);
  EXPECT_EQ(passed.all[7].value, 1ULL << 40);
  items.item({Kind::kHandle, 8, 32, 4, 1});
  EXPECT_FALSE(items.complete());
  items.clear();
  EXPECT_TRUE(items.complete());
}

}  // namespace
}  // namespace rpcrdma::model
