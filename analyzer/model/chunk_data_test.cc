#include <random>

#include <gtest/gtest.h>

#include <rpcrdma/model/chunk_data.h>

namespace rpcrdma::model {
namespace {

std::vector<std::uint8_t> bytes(std::size_t n, std::uint8_t first) {
  std::vector<std::uint8_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(first + i);
  return v;
}

TEST(ChunkData, InOrderIsOneExtent) {
  ChunkData d;
  EXPECT_EQ(d.store(0, bytes(10, 0)), 10U);
  EXPECT_EQ(d.store(10, bytes(10, 10)), 10U);
  EXPECT_EQ(d.extents().size(), 1U);
  EXPECT_EQ(d.prefix(100), bytes(20, 0));
  EXPECT_TRUE(d.covers(20));
  EXPECT_FALSE(d.covers(21));
}

TEST(ChunkData, AFarByteCostsOneByte) {
  ChunkData d;
  const std::uint8_t one = 1;
  EXPECT_EQ(d.store(0xfffffff0, {&one, 1}), 1U);
  EXPECT_EQ(d.held(), 1U);
  EXPECT_TRUE(d.head().empty());
}

TEST(ChunkData, HoleEndsThePrefix) {
  ChunkData d;
  d.store(0, bytes(4, 0));
  d.store(8, bytes(4, 8));
  EXPECT_EQ(d.prefix(12), bytes(4, 0));
  d.store(4, bytes(4, 4));
  EXPECT_EQ(d.prefix(12), bytes(12, 0));
  EXPECT_EQ(d.held(), 12U);
}

TEST(ChunkData, OffsetNearTheEndOfTheAddressSpaceIsRefused) {
  ChunkData d;
  EXPECT_EQ(d.store(UINT64_MAX - 1, bytes(4, 0)), 0U);
}

TEST(ChunkData, RandomPiecesGiveTheSameAsAPlainBuffer) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint8_t> plain(300);
    std::vector<bool> known(300);
    ChunkData d;
    for (int i = 0; i < 20; ++i) {
      const std::size_t at = random() % 290;
      const auto piece = bytes(1 + random() % 10, static_cast<std::uint8_t>(random()));
      d.store(at, piece);
      for (std::size_t k = 0; k < piece.size(); ++k) {
        plain[at + k] = piece[k];
        known[at + k] = true;
      }
    }
    std::size_t held = 0;
    for (const bool k : known) held += k ? 1 : 0;
    EXPECT_EQ(d.held(), held);
    for (const ChunkData::Extent& e : d.extents()) {
      for (std::size_t k = 0; k < e.bytes.size(); ++k) {
        EXPECT_TRUE(known[e.offset + k]);
        EXPECT_EQ(e.bytes[k], plain[e.offset + k]);
      }
    }
  }
}

}  // namespace
}  // namespace rpcrdma::model
