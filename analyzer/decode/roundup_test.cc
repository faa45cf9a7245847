#include "upper_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/decode/roundup.h>

namespace rpcrdma::decode {
namespace {

using wire::MsgType;

std::vector<std::uint8_t> words(std::initializer_list<std::uint32_t> values) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t v : values) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(v >> shift));
    }
  }
  return bytes;
}

TEST(Roundup, OfAnItemThatIsInTheStream) {
  const auto bytes = words({0x61626300, 0x616263ff});
  EXPECT_FALSE(has_nonzero_roundup(bytes, 0, 3));
  EXPECT_TRUE(has_nonzero_roundup(bytes, 4, 3));
  EXPECT_FALSE(has_nonzero_roundup(bytes, 4, 4));
  EXPECT_FALSE(has_nonzero_roundup(bytes, 4, 5));  // the roundup is not captured
  EXPECT_FALSE(has_nonzero_roundup(bytes, 9, 1));
  EXPECT_FALSE(has_nonzero_roundup(bytes, 0, UINT64_MAX));
}

// LOOKUP: a handle and a name.
TEST(Roundup, OfNfs3Arguments) {
  const ProcedureId lookup{kProgNfs, 3, 3};
  EXPECT_FALSE(find_nonzero_roundup(lookup, MsgType::kCall, words({4, 7, 3, 0x61626300})));
  EXPECT_EQ(find_nonzero_roundup(lookup, MsgType::kCall, words({4, 7, 3, 0x616263aa})), 8U);
  EXPECT_EQ(find_nonzero_roundup(lookup, MsgType::kCall, words({1, 0x07000001, 3, 0x616263aa})),
            0U);
  // Not parsed to its end.
  EXPECT_FALSE(find_nonzero_roundup(lookup, MsgType::kCall, words({1, 0x07000001, 3})));
  EXPECT_FALSE(find_nonzero_roundup({kProgMount, 3, 1}, MsgType::kCall, words({1, 0x07000001})));
}

// READ: status, no attributes, count, eof, data.
TEST(Roundup, OfNfs3Results) {
  const ProcedureId read{kProgNfs, 3, 6};
  const auto in_line = words({0, 0, 3, 1, 3, 0x616263aa});
  EXPECT_EQ(find_nonzero_roundup(read, MsgType::kReply, in_line), 16U);
  const std::uint64_t chunk[] = {3};
  EXPECT_FALSE(find_nonzero_roundup(read, MsgType::kReply, words({0, 0, 3, 1, 3}), {{}, chunk}));
  EXPECT_FALSE(find_nonzero_roundup(read, MsgType::kReply, words({5, 0})));  // NFS3ERR_IO
}

// WRITE: a handle, offset, count, stable, data. The data is in a Read chunk; its handle is not.
TEST(Roundup, WhatReadChunksRemovedIsNotSearched) {
  const ProcedureId write{kProgNfs, 3, 7};
  const Removed removed[] = {{28, 3}};
  const auto sound = words({4, 7, 0, 0, 3, 0, 3});
  EXPECT_FALSE(find_nonzero_roundup(write, MsgType::kCall, sound, {removed, {}}));
  const auto odd = words({3, 0x070707ff, 0, 0, 3, 0, 3});
  EXPECT_EQ(find_nonzero_roundup(write, MsgType::kCall, odd, {removed, {}}), 0U);
  // A chunk that removed something else: what follows is not what was sent.
  const Removed elsewhere[] = {{12, 3}};
  const auto data = words({4, 7, 0, 0, 3, 0, 3, 0x616263aa});
  EXPECT_FALSE(find_nonzero_roundup(write, MsgType::kCall, data, {elsewhere, {}}));
}

// A COMPOUND with LOOKUP of a name.
TEST(Roundup, OfACompound) {
  EXPECT_FALSE(
      find_nonzero_roundup(kCompound, MsgType::kCall, words({0, 1, 1, 15, 3, 0x61626300})));
  EXPECT_EQ(find_nonzero_roundup(kCompound, MsgType::kCall, words({0, 1, 1, 15, 3, 0x616263aa})),
            16U);
}

}  // namespace
}  // namespace rpcrdma::decode
