// Tests of the padding in RDMA_MSGPs: where it is found, and when its place is not certain.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/decode/padding.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

constexpr std::uint32_t kOrigin = 36;  // length of the transport header

struct Stream {
  std::vector<std::uint8_t> bytes;

  void word(std::uint32_t v) {
    bytes.resize(bytes.size() + 4);
    wire::store_be32(&bytes[bytes.size() - 4], v);
  }
  // A counted opaque, with padding before its bytes.
  void opaque(std::uint32_t length, std::uint32_t align = 1) {
    word(length);
    while (align != 0 && (kOrigin + bytes.size()) % align != 0) bytes.push_back(0);
    bytes.resize(bytes.size() + length, 0xdd);
    bytes.resize(bytes.size() + static_cast<std::size_t>(wire::xdr_padded(length) - length));
  }
};

Stream call_of(std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
  wire::RpcCall call;
  call.xid = 7;
  call.prog = program;
  call.vers = version;
  call.proc = procedure;
  Stream s;
  s.bytes.resize(wire::encoded_size(call));
  (void)wire::encode_rpc(call, s.bytes);
  return s;
}

// NFSv3 WRITE.
Stream write_of(std::uint32_t length, std::uint32_t align) {
  Stream s = call_of(kProgNfs, 3, 7);
  s.opaque(28);
  for (const std::uint32_t v : {0U, 0U, length, 2U}) s.word(v);
  s.opaque(length, align);
  return s;
}

std::vector<std::uint8_t> plain(const Stream& s, std::uint32_t align, std::uint32_t thresh,
                                const ReducedBody& body = {}, const ProcedureId* call = nullptr) {
  const auto found = find_padding({align, thresh, kOrigin}, s.bytes, body, call);
  return found ? without_padding(s.bytes, *found) : std::vector<std::uint8_t>();
}

TEST(Padding, TheDataOfAWriteIsAligned) {
  for (const std::uint32_t length : {600U, 601U, 603U, 512U}) {
    for (const std::uint32_t align : {3U, 8U, 64U, 1000U, 4096U}) {
      EXPECT_EQ(plain(write_of(length, align), align, 512), write_of(length, 1).bytes)
          << length << ' ' << align;
    }
  }
}

TEST(Padding, ShortDataIsNot) {
  EXPECT_EQ(plain(write_of(600, 1), 64, 601), write_of(600, 1).bytes);
}

TEST(Padding, EachLongOpaqueHasItsOwn) {
  const auto compound = [](std::uint32_t align) {
    Stream s = call_of(kProgNfs, 4, 1);
    s.opaque(0);
    s.word(1);
    s.word(2);
    for (const std::uint32_t length : {700U, 801U}) {
      s.word(38);  // WRITE: stateid, offset, stable
      for (int i = 0; i < 7; ++i) s.word(0);
      s.opaque(length, align);
    }
    return s;
  };
  const auto found = find_padding({256, 512, kOrigin}, compound(256).bytes, {}, nullptr);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 2U);
  EXPECT_EQ(without_padding(compound(256).bytes, *found), compound(1).bytes);
}

TEST(Padding, AReplyNeedsItsProcedure) {
  const auto read = [](std::uint32_t align) {
    Stream s;
    wire::RpcReply reply;
    reply.xid = 7;
    s.bytes.resize(wire::encoded_size(reply));
    (void)wire::encode_rpc(reply, s.bytes);
    for (const std::uint32_t v : {0U, 0U, 600U, 1U}) s.word(v);
    s.opaque(600, align);
    return s;
  };
  const ProcedureId id{kProgNfs, 3, 6, Wrapping::kNone};
  EXPECT_EQ(plain(read(128), 128, 512, {}, &id), read(1).bytes);
  EXPECT_FALSE(find_padding({128, 512, kOrigin}, read(128).bytes, {}, nullptr));
}

TEST(Padding, DataInChunksIsNotInTheSend) {
  // SYMLINK: the path in a Read chunk, a long name in front of it.
  const auto symlink = [](std::uint32_t align) {
    Stream s = call_of(kProgNfs, 3, 10);
    s.opaque(28);
    s.opaque(200, align);
    for (int i = 0; i < 6; ++i) s.word(0);
    s.word(300);
    return s;
  };
  const auto position = static_cast<std::uint32_t>(symlink(1).bytes.size() - 40);
  const std::vector<Removed> reads{{position, 300}};
  EXPECT_EQ(plain(symlink(64), 64, 200, {reads, {}}), symlink(1).bytes);
  // A chunk elsewhere removed something else.
  const std::vector<Removed> elsewhere{{position - 8, 300}};
  EXPECT_FALSE(find_padding({64, 200, kOrigin}, symlink(64).bytes, {elsewhere, {}}, nullptr));
}

TEST(Padding, WhereItIsNotCertainThereIsNone) {
  // An unknown program.
  Stream unknown = call_of(400000, 1, 1);
  unknown.opaque(600, 64);
  EXPECT_FALSE(find_padding({64, 512, kOrigin}, unknown.bytes, {}, nullptr));
  // But without a word that could be its count, it has no long opaque.
  Stream words = call_of(400000, 1, 1);
  for (int i = 0; i < 200; ++i) words.word(static_cast<std::uint32_t>(i));
  EXPECT_EQ(plain(words, 64, 512), words.bytes);
  // The credentials could be padded.
  EXPECT_FALSE(find_padding({64, 0, kOrigin}, write_of(600, 64).bytes, {}, nullptr));
  // The padding does not fit.
  for (const std::uint32_t align : {0x80000000U, 0xffffffffU, 1U << 20}) {
    EXPECT_FALSE(find_padding({align, 512, kOrigin}, write_of(600, 64).bytes, {}, nullptr));
  }
  // Another alignment than the sender used: the arguments do not end with the message.
  EXPECT_FALSE(find_padding({96, 512, kOrigin}, write_of(600, 64).bytes, {}, nullptr));
  // Truncated.
  const auto whole = write_of(600, 64).bytes;
  for (std::size_t n = 0; n < whole.size(); n += 4) {
    const auto found = find_padding({64, 512, kOrigin}, wire::Bytes(whole).first(n), {}, nullptr);
    EXPECT_TRUE(!found || found->empty()) << n;
  }
  // Alignment of nothing.
  EXPECT_EQ(plain(write_of(600, 1), 0, 512), write_of(600, 1).bytes);
}

}  // namespace
}  // namespace rpcrdma::decode
