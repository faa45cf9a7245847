// Live streams in whole blocks: damaged and hostile streams, limits, and time-outs.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include <rpcrdma/base/pcapng/whole_blocks.h>

namespace rpcrdma::base {
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
      block(6, 28),                                  // no section starts
      block(0x0a0d0d0a, 30),                         // not a multiple of four
      Bytes{0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 0x1c},  // the other byte order
      Bytes{0x0a, 0x0d, 0x0d, 0x0a, 8, 0, 0, 0},     // shorter than any block
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

// ----- Streams that no endpoint sends

constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kStatistics = 5, kPacket = 6;
constexpr std::uint32_t kEthernet = 1, kUpperPdu = 252;

Bytes interface(std::uint32_t link, std::uint32_t length = 20) {
  Bytes bytes = block(kInterface, length);
  std::memcpy(bytes.data() + 8, &link, 2);
  return bytes;
}

// Adds the block up to `most` times, until the stream is broken. Returns how often it was returned.
std::size_t repeat(WholeBlocks& blocks, const Bytes& one, std::size_t most) {
  std::size_t given = 0;
  for (std::size_t i = 0; i < most && !blocks.broken(); ++i) {
    if (!blocks.add(one).empty()) ++given;
  }
  return given;
}

TEST(WholeBlocks, InterfacesWithoutEndAreRefused) {
  WholeBlocks blocks;
  EXPECT_EQ(blocks.add(block(kSection, 28)).size(), 28U);
  EXPECT_EQ(repeat(blocks, interface(kUpperPdu), 1000), WholeBlocks::kMaxInterfaces);
  EXPECT_STREQ(blocks.why(), "it sends more interfaces than an endpoint has");
}

TEST(WholeBlocks, AnInterfaceWithoutEndIsRefused) {
  WholeBlocks blocks;
  EXPECT_EQ(blocks.add(block(kSection, 28)).size(), 28U);
  EXPECT_TRUE(blocks.add(interface(kUpperPdu, WholeBlocks::kMaxHead)).empty());
  EXPECT_STREQ(blocks.why(), "its stream header is longer than any endpoint's");
}

TEST(WholeBlocks, ASecondSectionIsRefused) {
  WholeBlocks blocks;
  EXPECT_EQ(repeat(blocks, block(kSection, 28), 10), 1U);
  EXPECT_STREQ(blocks.why(), "it sends a second section, where an endpoint sends one");
}

TEST(WholeBlocks, AGiantBlockIsRefusedBeforeItCame) {
  WholeBlocks blocks;
  EXPECT_EQ(blocks.add(block(kSection, 28)).size(), 28U);
  Bytes giant = block(kPacket, 12);
  const std::uint32_t length = WholeBlocks::kMaxBlock + 4;
  std::memcpy(giant.data() + 4, &length, sizeof length);
  EXPECT_TRUE(blocks.add(giant).empty());
  EXPECT_TRUE(blocks.broken());
}

TEST(WholeBlocks, WhatIsNoPacketIsBoundedByThePackets) {
  constexpr std::uint32_t kLength = 1024;
  for (const std::uint32_t type : {kStatistics, 0x4dU, 10U}) {
    WholeBlocks blocks;
    EXPECT_EQ(blocks.add(block(kSection, 28)).size(), 28U);
    EXPECT_EQ(repeat(blocks, block(kPacket, kLength), 10), 10U);
    EXPECT_EQ(repeat(blocks, block(type, kLength), 10'000), WholeBlocks::kMaxBeside / kLength + 10);
    EXPECT_STREQ(blocks.why(), "it sends hardly any packets");
  }
  // An endpoint's stream: statistics after each second that had packets.
  WholeBlocks blocks;
  EXPECT_EQ(blocks.add(block(kSection, 28)).size(), 28U);
  for (int second = 0; second < 100'000; ++second) {
    ASSERT_FALSE(blocks.add(block(kPacket, 120)).empty());
    ASSERT_FALSE(blocks.add(block(kStatistics, 100)).empty());
  }
}

class Patience : public ::testing::Test {
 protected:
  using Clock = WholeBlocks::Clock;
  static constexpr LivePatience kPatience{.begin = std::chrono::seconds(5),
                                          .block = std::chrono::seconds(10)};
  // Adds one byte a second from `begin` on, until the stream is broken. Returns how many it added.
  static int trickle(WholeBlocks& blocks, const Bytes& bytes, Clock::time_point begin) {
    int came = 0;
    for (const std::uint8_t byte : bytes) {
      const auto now = begin + std::chrono::seconds(came);
      (void)blocks.add({&byte, 1}, now);
      blocks.expire(now);
      ++came;
      if (blocks.broken()) break;
    }
    return came;
  }
  Clock::time_point start_{std::chrono::seconds(1000)};
  WholeBlocks blocks_{kPatience, start_};
};

TEST_F(Patience, SilenceAtTheBeginningEnds) {
  ASSERT_TRUE(blocks_.deadline());
  EXPECT_EQ(*blocks_.deadline(), start_ + kPatience.begin);
  blocks_.expire(start_ + kPatience.begin - std::chrono::nanoseconds(1));
  EXPECT_FALSE(blocks_.broken());
  blocks_.expire(start_ + kPatience.begin);
  EXPECT_STREQ(blocks_.why(), "it does not answer");
  EXPECT_FALSE(blocks_.deadline());
}

TEST_F(Patience, AHeadWithoutAnEventIsSilence) {
  (void)blocks_.add(block(kSection, 28), start_);
  (void)blocks_.add(interface(kUpperPdu), start_);
  EXPECT_TRUE(blocks_.deadline());
  (void)blocks_.add(block(kPacket, 64), start_);
  EXPECT_FALSE(blocks_.deadline());
  blocks_.expire(start_ + std::chrono::hours(1));
  EXPECT_FALSE(blocks_.broken());
}

// A packet stream has started even before its first packet.
TEST_F(Patience, AHeadOfPacketsIsABeginning) {
  (void)blocks_.add(block(kSection, 28), start_);
  (void)blocks_.add(interface(kEthernet), start_);
  EXPECT_FALSE(blocks_.deadline());
}

TEST_F(Patience, AByteASecondEnds) {
  EXPECT_EQ(trickle(blocks_, stream(), start_), 6);
  EXPECT_STREQ(blocks_.why(), "it does not answer");
}

TEST_F(Patience, AByteASecondEndsInTheMiddleToo) {
  ASSERT_EQ(blocks_.add(stream(), start_).size(), stream().size());
  const auto later = start_ + std::chrono::hours(1);
  EXPECT_EQ(trickle(blocks_, block(kPacket, 4096), later), 18);
  EXPECT_STREQ(blocks_.why(), "it does not send the rest of a block");
}

// A suspended endpoint sends the rest at once when it resumes.
TEST_F(Patience, AnEndpointThatStandsStillIsWaitedFor) {
  const Bytes all = stream();
  const std::span bytes(all);
  (void)blocks_.add(bytes.first(50), start_);
  const auto later = start_ + std::chrono::hours(1);
  (void)blocks_.add(bytes.subspan(50, 40), later);
  EXPECT_EQ(blocks_.add(bytes.subspan(90), later).size(), 64U);
  EXPECT_FALSE(blocks_.broken());
}

}  // namespace
}  // namespace rpcrdma::base
