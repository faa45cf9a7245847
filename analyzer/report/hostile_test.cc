// Tests messages that are built to be expensive.
#include "support/hostile_traffic.h"

namespace rpcrdma::report::testing {
namespace {

constexpr std::size_t kLargestMessage = 256 * 1024;

std::vector<wire::ReadSegment> largest_read_list() {
  std::vector<wire::ReadSegment> reads((kLargestMessage - 100) / 24);
  for (std::uint32_t i = 0; i < reads.size(); ++i) reads[i] = {i * 4, {i, 1, i}};
  return reads;
}

// In-flight Calls keep their lists, which need a multiple of the bytes sent.
TEST_F(Hostile, ReadListsThatFillTheLargestMessage) {
  const auto reads = largest_read_list();
  wire::Header h;
  h.reads = reads;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20; ++h.xid) send_call(h);
      },
      [&] {
        return Limits{14 * bytes_, 20};
      });
}

TEST_F(HostileKept, ReadListsThatFillTheLargestMessage) {
  const auto reads = largest_read_list();
  wire::Header h;
  h.reads = reads;
  // A tree has a line for each field of a segment.
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20; ++h.xid) send_call(h);
      },
      [&] {
        return Limits{20 * bytes_, 400};
      });
}

TEST_F(Hostile, WriteChunksWithoutSegments) {
  const std::vector<wire::WriteChunk> writes((kLargestMessage - 100) / 8);
  wire::Header h;
  h.writes = writes;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20; ++h.xid) send_call(h);
      },
      [&] {
        return Limits{20 * bytes_, 20};
      });
}

TEST_F(Hostile, OneHandleInAllCalls) {
  const wire::ReadSegment reads[] = {{4, {7, 4096, 0}}};
  wire::Header h;
  h.reads = reads;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= many(100000); ++h.xid) {
          send_call(h);
          if (h.xid % 4 != 0) continue;
          give(kServer, kClient,
               with_reth(packet(Opcode::kReadRequest, kClientQp, h.xid), 7, 0, 4096));
        }
      },
      [] {
        return Limits{20 * kMiB, 40};
      });
}

TEST_F(Hostile, OneXidInAllCalls) {
  const wire::ReadSegment reads[] = {{4, {7, 4096, 0}}};
  wire::Header h;
  h.reads = reads;
  expect_within(
      [&] {
        for (std::uint32_t i = 0; i < many(100000); ++i) send_call(h);
      },
      [] {
        return Limits{kMiB, 40};
      });
}

TEST_F(HostileKept, ReadsOf4GiBWithoutResponse) {
  const wire::ReadSegment reads[] = {{4, {7, UINT32_MAX, 0}}};
  wire::Header h;
  h.xid = 1;
  h.reads = reads;
  expect_within(
      [&] {
        send_call(h);
        for (std::uint32_t i = 0; i < many(100000); ++i) {
          give(kServer, kClient,
               with_reth(packet(Opcode::kReadRequest, kClientQp, i << 22), 7, 0, UINT32_MAX));
        }
      },
      [] {
        return Limits{4 * kMiB, 10};
      });
}

// Kept bytes are in one vector, which is copied when it grows.
TEST_F(HostileKept, WriteOf4GiB) {
  const wire::Segment segment[] = {{7, UINT32_MAX, 0}};
  const wire::WriteChunk writes[] = {segment};
  wire::Header h;
  h.xid = 1;
  h.writes = writes;
  const std::vector<std::uint8_t> data(4096);
  expect_within(
      [&] {
        send_call(h);
        give(kServer, kClient,
             with_reth(packet(Opcode::kWriteFirst, kClientQp, 0, data), 7, 0, UINT32_MAX));
        for (std::uint32_t psn = 1; psn < 40000; ++psn) {
          give(kServer, kClient, packet(Opcode::kWriteMiddle, kClientQp, psn, data));
        }
      },
      [] {
        return Limits{2 * kMaxKept, 10};
      });
}

TEST_F(HostileKept, WritesOfOneByteEach) {
  const wire::Segment segment[] = {{7, UINT32_MAX, 0}};
  const wire::WriteChunk writes[] = {segment};
  wire::Header h;
  h.xid = 1;
  h.writes = writes;
  const std::uint8_t byte[] = {1};
  expect_within(
      [&] {
        send_call(h);
        for (std::uint32_t i = 0; i < 20000; ++i) {
          give(kServer, kClient,
               with_reth(packet(Opcode::kWriteOnly, kClientQp, i, byte), 7, 1000000 - 2 * i, 1));
        }
      },
      [] {
        return Limits{4 * kMiB, 10};
      });
}

TEST_F(Hostile, ProgramsWithoutEnd) {
  wire::Header h;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20000; ++h.xid) send_call(h, h.xid);
      },
      [] {
        return Limits{40 * kMiB, 50};
      });
}

TEST_F(Hostile, TimeGoingBackwards) {
  step_ns_ = -1000000000000;
  wire::Header h;
  expect_within(
      [&] {
        for (h.xid = 1; h.xid <= 20000; ++h.xid) send_call(h);
      },
      [] {
        return Limits{16 * kMiB, 40};
      });
  EXPECT_EQ(analysis_.pipeline().frames().clock_steps_back, 19999U);
}

// All of them are one finding.
TEST_F(Hostile, MessagesMalformedInManyWays) {
  wire::Header call;
  call.xid = 1;
  expect_within(
      [&] {
        send_call(call);
        for (std::uint32_t entries = 0; entries < 5000; ++entries) {
          const std::vector<wire::ReadSegment> reads(entries);
          wire::Header h;
          h.reads = reads;
          std::vector<std::uint8_t> bytes(wire::encoded_size(h));
          ASSERT_TRUE(wire::encode_header(h, bytes));
          wire::store_be32(&bytes[bytes.size() - 12], 2);  // the word that ends the Read list
          send(bytes);
        }
      },
      [] {
        return Limits{8 * kMiB, 20};
      });
  std::string json;
  write_json(analysis_.report(), [&](std::string_view piece) { json += piece; });
  EXPECT_NE(json.find("\"count\":5000"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::report::testing
