// Translation of work requests and completions between the fabric and the verbs.
#include "translate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace rpcrdma::verbs {
namespace {

using fabric::Operation;
using fabric::Slice;
using fabric::Status;

struct Translated {
  ibv_send_wr work{};
  Sges sges{};
};

Translated translated(const fabric::SendRequest& request, std::uint32_t most_inline = 0) {
  Translated t;
  translate(request, most_inline, t.work, t.sges);
  return t;
}

TEST(VerbsTranslate, EveryOperationOfTheSendQueue) {
  fabric::SendRequest r;
  r.immediate = 0x11223344;
  r.invalidate = 0x55667788;
  r.remote_handle = 0x99;
  r.remote_offset = 0x1234567890;
  EXPECT_EQ(translated(r).work.opcode, IBV_WR_SEND);
  r.operation = Operation::kSendImmediate;
  EXPECT_EQ(translated(r).work.opcode, IBV_WR_SEND_WITH_IMM);
  EXPECT_EQ(translated(r).work.imm_data, htonl(0x11223344));
  r.operation = Operation::kSendInvalidate;
  EXPECT_EQ(translated(r).work.opcode, IBV_WR_SEND_WITH_INV);
  EXPECT_EQ(translated(r).work.invalidate_rkey, 0x55667788U);
  r.operation = Operation::kWriteImmediate;
  EXPECT_EQ(translated(r).work.opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
  EXPECT_EQ(translated(r).work.imm_data, htonl(0x11223344));
  for (const Operation o : {Operation::kWrite, Operation::kRead, Operation::kWriteImmediate}) {
    r.operation = o;
    EXPECT_EQ(translated(r).work.wr.rdma.rkey, 0x99U);
    EXPECT_EQ(translated(r).work.wr.rdma.remote_addr, 0x1234567890U);
  }
  r.operation = Operation::kRead;
  EXPECT_EQ(translated(r).work.opcode, IBV_WR_RDMA_READ);
}

TEST(VerbsTranslate, FlagsAreThoseThatWereAskedFor) {
  fabric::SendRequest r;
  EXPECT_EQ(translated(r).work.send_flags, unsigned{IBV_SEND_SIGNALED});
  r.signaled = false;
  EXPECT_EQ(translated(r).work.send_flags, 0U);
  r.solicited = r.fence = true;
  EXPECT_EQ(translated(r).work.send_flags, unsigned{IBV_SEND_SOLICITED} | IBV_SEND_FENCE);
}

TEST(VerbsTranslate, SlicesWithoutTheEmptyOnes) {
  std::array<std::uint8_t, 16> bytes{};
  const std::array<Slice, 3> slices{Slice{bytes.data(), 4, 7}, Slice{bytes.data() + 4, 0, 7},
                                    Slice{bytes.data() + 8, 8, 9}};
  fabric::SendRequest r;
  r.local = slices;
  const Translated t = translated(r);
  ASSERT_EQ(t.work.num_sge, 2);
  EXPECT_EQ(t.sges[0].addr, reinterpret_cast<std::uintptr_t>(bytes.data()));
  EXPECT_EQ(t.sges[0].length, 4U);
  EXPECT_EQ(t.sges[0].lkey, 7U);
  EXPECT_EQ(t.sges[1].addr, reinterpret_cast<std::uintptr_t>(bytes.data() + 8));
  EXPECT_EQ(t.sges[1].length, 8U);
  EXPECT_EQ(t.sges[1].lkey, 9U);
  EXPECT_EQ(length_of(slices), 12U);
}

TEST(VerbsTranslate, AsManyBytesAsTheQueueTakesGoInline) {
  std::array<std::uint8_t, 64> bytes{};
  Slice slice{bytes.data(), 64, 7};
  fabric::SendRequest r;
  r.local = {&slice, 1};
  const auto goes_inline = [&](std::uint32_t most) {
    return (translated(r, most).work.send_flags & IBV_SEND_INLINE) != 0;
  };
  EXPECT_TRUE(goes_inline(64));
  EXPECT_FALSE(goes_inline(63));
  r.operation = Operation::kWrite;
  EXPECT_TRUE(goes_inline(64));
  r.operation = Operation::kRead;
  EXPECT_FALSE(goes_inline(64));
  r.operation = Operation::kSend;
  slice.length = 0;
  EXPECT_FALSE(goes_inline(64));
}

TEST(VerbsTranslate, LengthsDoNotWrap) {
  const std::array<Slice, 2> slices{Slice{nullptr, UINT32_MAX, 0}, Slice{nullptr, 2, 0}};
  EXPECT_EQ(length_of(slices), UINT32_MAX);
}

TEST(VerbsTranslate, EveryStatusHasItsWord) {
  EXPECT_EQ(translate(IBV_WC_SUCCESS), Status::kSuccess);
  EXPECT_EQ(translate(IBV_WC_LOC_LEN_ERR), Status::kLocalLength);
  EXPECT_EQ(translate(IBV_WC_LOC_PROT_ERR), Status::kLocalProtection);
  EXPECT_EQ(translate(IBV_WC_WR_FLUSH_ERR), Status::kFlushed);
  EXPECT_EQ(translate(IBV_WC_MW_BIND_ERR), Status::kLocalOperation);
  EXPECT_EQ(translate(IBV_WC_BAD_RESP_ERR), Status::kBadResponse);
  EXPECT_EQ(translate(IBV_WC_REM_INV_REQ_ERR), Status::kRemoteInvalid);
  EXPECT_EQ(translate(IBV_WC_REM_ACCESS_ERR), Status::kRemoteAccess);
  EXPECT_EQ(translate(IBV_WC_REM_OP_ERR), Status::kRemoteOperation);
  EXPECT_EQ(translate(IBV_WC_RETRY_EXC_ERR), Status::kRetriesExceeded);
  EXPECT_EQ(translate(IBV_WC_RNR_RETRY_EXC_ERR), Status::kRnrRetriesExceeded);
  EXPECT_EQ(translate(IBV_WC_GENERAL_ERR), Status::kLocalOperation);
}

fabric::Completion received(unsigned flags, bool kernel_flags = false) {
  ibv_wc wc{};
  wc.byte_len = 77;
  wc.wc_flags = flags;
  wc.invalidated_rkey = htonl(0x01020304);
  fabric::Completion c;
  translate_received(wc, kernel_flags, c);
  EXPECT_EQ(c.bytes, 77U);
  return c;
}

TEST(VerbsTranslate, WhatAReceiveShows) {
  EXPECT_FALSE(received(IBV_WC_GRH).has_immediate || received(IBV_WC_GRH).has_invalidated);
  EXPECT_TRUE(received(IBV_WC_WITH_IMM).has_immediate);
  EXPECT_EQ(received(IBV_WC_WITH_IMM).immediate, 0x01020304U);
  EXPECT_TRUE(received(IBV_WC_WITH_INV).has_invalidated);
  EXPECT_EQ(received(IBV_WC_WITH_INV).invalidated, htonl(0x01020304));
  // rxe uses the kernel's value: 4 is IB_WC_WITH_INVALIDATE.
  EXPECT_FALSE(received(4).has_invalidated);
  EXPECT_TRUE(received(4, true).has_invalidated);
  EXPECT_TRUE(received(IBV_WC_WITH_INV, true).has_invalidated);
}

TEST(VerbsTranslate, NamesOfWork) {
  for (const bool receive : {false, true}) {
    const WorkName there{0xffffff01, receive, 0x7ffffffe};
    const WorkName back = WorkName::decode(there.encode());
    EXPECT_EQ(back.connection, there.connection);
    EXPECT_EQ(back.receive, receive);
    EXPECT_EQ(back.place, there.place);
  }
  // The number continues where the place wraps around.
  constexpr std::uint64_t kBegin = (5ULL << 31U) - 2;
  for (std::uint64_t n = kBegin; n < kBegin + 5; ++n) {
    const WorkName name{1, false, static_cast<std::uint32_t>(n)};
    EXPECT_EQ(WorkName::decode(name.encode()).from(kBegin), n);
  }
}

}  // namespace
}  // namespace rpcrdma::verbs
