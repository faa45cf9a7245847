#include <cstring>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/base/pcapng/read_blocks.h>

namespace rpcrdma::base::pcapng {
namespace {

using Bytes = std::vector<std::uint8_t>;
using testing::ElementsAre;
using testing::Pair;

TEST(ReadBlocks, TakesOneBlockAfterTheOther) {
  PcapngBlocks written;
  written.section();
  const std::size_t section = written.bytes().size();
  written.interface({});
  written.statistics({});
  std::span<const std::uint8_t> rest = written.bytes();
  EXPECT_EQ(take_block(rest).type, kSectionHeader);
  EXPECT_EQ(rest.size(), written.bytes().size() - section);
  EXPECT_EQ(take_block(rest).type, kInterfaceDescription);
  EXPECT_EQ(take_block(rest).type, kInterfaceStatistics);
  EXPECT_TRUE(rest.empty());
}

TEST(ReadBlocks, PacketIsWhatWasWritten) {
  const Bytes data{1, 2, 3}, more{4, 5};
  PcapngBlocks written;
  written.packet(0x0123456789abcdef, data, more, Direction::kOutbound);
  const auto packet = read_packet(written.bytes());
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->interface, 0U);
  EXPECT_EQ(packet->ticks, 0x0123456789abcdefU);
  EXPECT_EQ(packet->original, 5U);
  EXPECT_THAT(packet->data, ElementsAre(1, 2, 3, 4, 5));
}

TEST(ReadBlocks, RefusesPacketThatIsLongerThanItsBlock) {
  PcapngBlocks written;
  written.packet(1, Bytes(8), {});
  Bytes block = written.bytes();
  EXPECT_TRUE(read_packet(block));
  EXPECT_FALSE(read_packet(std::span(block).first(kSmallestPacket - 4)));
  for (const std::uint32_t captured : {9U, 0xffffffffU}) {
    std::memcpy(block.data() + kCapturedAt, &captured, sizeof captured);
    EXPECT_FALSE(read_packet(block)) << captured;
  }
}

TEST(ReadBlocks, OptionsEndWhereTheyClaimMoreThanTheBlockHas) {
  PcapngBlocks written;
  written.statistics({.last_ns = 1, .received = 2, .dropped = 3, .end_time = false});
  Bytes block = written.bytes();
  const auto options = [&] {
    std::vector<std::pair<std::uint16_t, std::size_t>> found;
    read_options(block, kStatisticsOptionsAt,
                 [&](std::uint16_t code, std::span<const std::uint8_t> value) {
                   found.emplace_back(code, value.size());
                 });
    return found;
  };
  EXPECT_THAT(options(), ElementsAre(Pair(kIsbIfrecv, 8), Pair(kIsbOsdrop, 8)));
  const std::uint16_t length = 0xffff;
  std::memcpy(block.data() + kStatisticsOptionsAt + 12 + 2, &length, sizeof length);
  EXPECT_THAT(options(), ElementsAre(Pair(kIsbIfrecv, 8)));
}

}  // namespace
}  // namespace rpcrdma::base::pcapng
