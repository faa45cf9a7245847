// Numbers of the pcapng format (draft-ietf-opsawg-pcapng section 4) that reader and writer share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace rpcrdma::capture {

// A field in the byte order of this machine, in which our own files and live streams are written.
inline std::uint32_t pcapng_word(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

inline constexpr std::uint32_t kPcapngSectionHeader =
    0x0a0d0d0a;  // reads alike in both byte orders
inline constexpr std::uint32_t kPcapngByteOrderMagic = 0x1a2b3c4d;

// Block types.
enum : std::uint32_t {
  kInterfaceDescription = 1,
  kObsoletePacket = 2,
  kSimplePacket = 3,
  kInterfaceStatistics = 5,
  kEnhancedPacket = 6,
};

// Option codes, by the block that they stand in.
inline constexpr std::uint16_t kEndOfOptions = 0;
inline constexpr std::uint16_t kComment = 1;
inline constexpr std::uint16_t kShbUserAppl = 4;
inline constexpr std::uint16_t kIfName = 2;
inline constexpr std::uint16_t kIfTsresol = 9;
inline constexpr std::uint16_t kIfFilter = 11;
inline constexpr std::uint16_t kIfTsoffset = 14;
inline constexpr std::uint16_t kEpbDropcount = 4;
inline constexpr std::uint16_t kIsbStarttime = 2;
inline constexpr std::uint16_t kIsbEndtime = 3;
inline constexpr std::uint16_t kIsbIfrecv = 4;
inline constexpr std::uint16_t kIsbIfdrop = 5;
inline constexpr std::uint16_t kIsbOsdrop = 7;

// The comment of a section whose writer ends it with interface statistics: without these it was
// not closed.
inline constexpr std::string_view kEndsWithStatistics = "ends with interface statistics";

}  // namespace rpcrdma::capture
