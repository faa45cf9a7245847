// RFC 8797 section 4.2: the smaller of one side's send size and the other's receive size.
#include "thresholds.h"

#include "rdma_config.h"

#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::service {
namespace {

std::vector<std::uint8_t> sizes(std::uint32_t send, std::uint32_t receive) {
  wire::PrivateData data;
  data.send_code = wire::inline_size_code(send);
  data.recv_code = wire::inline_size_code(receive);
  const auto bytes = wire::encode_private_data(data);
  return {bytes.begin(), bytes.end()};
}

TEST(Thresholds, TheSmallerHolds) {
  const Thresholds t = agree(4096, true, false, sizes(2048, 8192));
  EXPECT_EQ(t.send, 4096U);
  EXPECT_EQ(t.receive, 2048U);
  const Thresholds u = agree(65536, true, false, sizes(262144, 1024));
  EXPECT_EQ(u.send, 1024U);
  EXPECT_EQ(u.receive, 65536U);
}

TEST(Thresholds, WithoutPrivateData1024) {
  for (const bool sent : {true, false}) {
    const Thresholds t = agree(4096, sent, false, {});
    EXPECT_EQ(t.send, 1024U);
    EXPECT_EQ(t.receive, 1024U);
    EXPECT_FALSE(t.peer);
    EXPECT_FALSE(t.peer_sent_other);
  }
  EXPECT_FALSE(agree(4096, true, false, std::vector<std::uint8_t>(56)).peer_sent_other);
}

TEST(Thresholds, PrivateDataThatMakesNoSenseIsNone) {
  const std::vector<std::uint8_t> good = sizes(4096, 4096);
  for (const std::size_t at : {0U, 1U, 2U, 3U, 4U}) {  // magic, version
    auto bad = good;
    bad[at] ^= 0x10;
    EXPECT_EQ(agree(4096, true, false, bad).send, 1024U) << at;
    EXPECT_TRUE(agree(4096, true, false, bad).peer_sent_other) << at;
  }
  EXPECT_EQ(agree(4096, true, false, wire::Bytes(good).first(7)).receive, 1024U);
  // Bytes after it belong to another protocol.
  auto longer = good;
  longer.resize(56, 0xff);
  EXPECT_EQ(agree(4096, true, false, longer).send, 4096U);
}

// Every peer accepts 1,024 bytes inline (RFC 5666 section 6.2).
TEST(Thresholds, SizesOfConfRdmaBelow1024CountAs1024) {
  for (const std::uint32_t size : {0U, 1U, 1023U, 1024U}) {
    protocol::Terms terms;
    configure_client({size, 0, 16}, 4096, {}, terms);
    EXPECT_EQ(terms.inline_send, 1024U);
    EXPECT_EQ(terms.inline_receive, 1024U);
    configure_server({4096, size, 16}, 8192, terms);
    EXPECT_EQ(terms.inline_send, 1024U);
    EXPECT_EQ(terms.inline_receive, 8192U);
  }
  protocol::Terms terms;
  configure_client({8192, 0, 16}, 4096, {}, terms);
  EXPECT_EQ(terms.inline_send, 4096U);
}

TEST(Thresholds, ReadChunksNeedBothSidesPermission) {
  for (const std::uint32_t server : {0U, 1U}) {
    for (const std::uint32_t client : {0U, 1U}) {
      protocol::Terms terms;
      configure_client({4096, 0, server}, 4096, {.max_reads = client}, terms);
      EXPECT_EQ(terms.peer_reads, server != 0 && client != 0);
    }
  }
}

TEST(Thresholds, OfOneWhoDidNotSayNobodyKnows) {
  const Thresholds t = agree(4096, false, false, sizes(4096, 4096));
  EXPECT_EQ(t.send, 1024U);
  EXPECT_EQ(t.receive, 1024U);
  EXPECT_TRUE(t.peer);
}

TEST(Thresholds, WhatIsSaidIsWhatIsMeant) {
  const auto bytes = own_private_data(4096, true);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 8>{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}));
  EXPECT_TRUE(is_threshold(1024));
  EXPECT_TRUE(is_threshold(262144));
  for (const std::uint32_t bad : {0U, 512U, 1025U, 4095U, 263168U}) EXPECT_FALSE(is_threshold(bad));
}

}  // namespace
}  // namespace rpcrdma::service
