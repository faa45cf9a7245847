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

// Each byte precedes all others, so keeping them in order moves all others.
std::uint64_t moved_by_bytes_backwards(std::uint64_t n, std::uint64_t step) {
  ChunkData d;
  for (std::uint64_t i = n; i-- != 0;) d.store(i * step, bytes(1, 0));
  return d.moved();
}

TEST(ChunkData, MovesNoMoreThanAMultipleOfWhatItKeeps) {
  for (const std::uint64_t step : {1U, 2U}) {
    const std::uint64_t once = moved_by_bytes_backwards(100000, step);
    const std::uint64_t twice = moved_by_bytes_backwards(200000, step);
    EXPECT_LE(once, 4U << 20);
    EXPECT_LE(twice, 2 * once);
  }
}

TEST(ChunkData, SaysWhenItRefusedData) {
  ChunkData d;
  for (std::uint64_t i = 0; i < 32; ++i) d.store((31 - i) * 4096, bytes(4096, 0));
  EXPECT_FALSE(d.refused());
  EXPECT_TRUE(d.covers(32U * 4096U));
  for (std::uint64_t i = 100000; i-- != 0;) d.store(1000000 + i * 2, bytes(1, 0));
  EXPECT_TRUE(d.refused());
  EXPECT_LT(d.footprint(), 4U << 20);
}

}  // namespace
}  // namespace rpcrdma::model
