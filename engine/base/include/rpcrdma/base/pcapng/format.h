// Constants of the pcapng format (draft-ietf-opsawg-pcapng section 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rpcrdma::base::pcapng {

// Block types.
inline constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;  // the same in both byte orders
inline constexpr std::uint32_t kInterfaceDescription = 1;
inline constexpr std::uint32_t kObsoletePacket = 2;
inline constexpr std::uint32_t kSimplePacket = 3;
inline constexpr std::uint32_t kInterfaceStatistics = 5;
inline constexpr std::uint32_t kEnhancedPacket = 6;

inline constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;

// Every block has a type, a length, a body, and the length again.
inline constexpr std::size_t kLengthAt = 4;
inline constexpr std::size_t kBlockHead = 8;
inline constexpr std::size_t kTrailer = 4;
inline constexpr std::size_t kSmallestBlock = kBlockHead + kTrailer;
// Section Header Block.
inline constexpr std::size_t kSectionOptionsAt = 24;
inline constexpr std::size_t kSmallestSection = kSectionOptionsAt + kTrailer;
// Interface Description Block.
inline constexpr std::size_t kLinkTypeAt = 8;
inline constexpr std::size_t kSnaplenAt = 12;
inline constexpr std::size_t kInterfaceOptionsAt = 16;
inline constexpr std::size_t kSmallestInterface = kInterfaceOptionsAt + kTrailer;
// Enhanced Packet Block, and the obsolete Packet Block.
inline constexpr std::size_t kPacketInterfaceAt = 8;
inline constexpr std::size_t kTimeAt = 12;  // the upper half, then the lower
inline constexpr std::size_t kCapturedAt = 20;
inline constexpr std::size_t kOriginalAt = 24;
inline constexpr std::size_t kDataAt = 28;
inline constexpr std::size_t kSmallestPacket = kDataAt + kTrailer;
// Interface Statistics Block.
inline constexpr std::size_t kStatisticsOptionsAt = 20;
inline constexpr std::size_t kSmallestStatistics = kStatisticsOptionsAt + kTrailer;

// Option codes, by the block that holds them.
inline constexpr std::uint16_t kEndOfOptions = 0;
inline constexpr std::uint16_t kComment = 1;
inline constexpr std::uint16_t kShbUserAppl = 4;
inline constexpr std::uint16_t kIfName = 2;
inline constexpr std::uint16_t kIfTsresol = 9;
inline constexpr std::uint16_t kIfFilter = 11;
inline constexpr std::uint16_t kIfTsoffset = 14;
inline constexpr std::uint16_t kEpbFlags = 2;
inline constexpr std::uint16_t kEpbDropcount = 4;
inline constexpr std::uint16_t kIsbStarttime = 2;
inline constexpr std::uint16_t kIsbEndtime = 3;
inline constexpr std::uint16_t kIsbIfrecv = 4;
inline constexpr std::uint16_t kIsbIfdrop = 5;
inline constexpr std::uint16_t kIsbOsdrop = 7;

// The comment of a section whose writer always ends it with interface statistics. Without them,
// such a section was not closed.
inline constexpr std::string_view kEndsWithStatistics = "ends with interface statistics";

// Data and options are padded to four bytes.
constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 3) & ~std::uint64_t{3};
}

}  // namespace rpcrdma::base::pcapng
