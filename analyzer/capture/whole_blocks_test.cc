#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include <rpcrdma/capture/whole_blocks.h>

namespace rpcrdma::capture {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes block(std::uint32_t type, std::uint32_t length) {
  Bytes bytes(length, 0xee);
  std::memcpy(bytes.data(), &type, sizeof type);
  std::memcpy(bytes.data() + 4, &length, sizeof length);
  return bytes;
}

Bytes stream() {
  Bytes bytes = block(0x0a0d0d0a, 28);
  for (const std::uint32_t length : {20U, 12U, 64U}) {
    const Bytes more = block(6, length);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

TEST(WholeBlocks, GivesWhatIsWholeHoweverItComes) {
  const Bytes all = stream();
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    WholeBlocks blocks;
    Bytes given;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      const auto part = std::span(all).subspan(at, std::min(piece, all.size() - at));
      const auto whole = blocks.add(part);
      given.insert(given.end(), whole.begin(), whole.end());
      const std::size_t came = at + part.size();
      EXPECT_EQ(given.size(), came >= 124  ? 124
                              : came >= 60 ? 60
                              : came >= 48 ? 48
                              : came >= 28 ? 28
                                           : 0);
    }
    EXPECT_EQ(given, all);
    EXPECT_FALSE(blocks.broken());
  }
}

TEST(WholeBlocks, RefusesWhatIsNoPcapng) {
  const Bytes wrong[] = {
      block(6, 28),                                  // no section begins
      block(0x0a0d0d0a, 30),                         // no multiple of four
      Bytes{0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 0x1c},  // the other byte order
      Bytes{0x0a, 0x0d, 0x0d, 0x0a, 8, 0, 0, 0},     // shorter than a block is
  };
  for (const Bytes& bytes : wrong) {
    WholeBlocks blocks;
    EXPECT_TRUE(blocks.add(bytes).empty());
    EXPECT_TRUE(blocks.broken());
    EXPECT_TRUE(blocks.add(stream()).empty());
  }
}

TEST(WholeBlocks, WhatCameBeforeTheDamageIsGiven) {
  Bytes bytes = stream();
  bytes.insert(bytes.end(), 8, 0xff);
  WholeBlocks blocks;
  EXPECT_EQ(blocks.add(bytes).size(), stream().size());
  EXPECT_TRUE(blocks.broken());
}

}  // namespace
}  // namespace rpcrdma::capture
