// Decodes whole blocks in memory: our own files and live streams, in this machine's byte order.
// capture::PcapngReader reads foreign files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include <rpcrdma/base/byte_order.h>
#include <rpcrdma/base/pcapng/format.h>

namespace rpcrdma::base::pcapng {

inline std::uint32_t word(std::span<const std::uint8_t> bytes, std::size_t at) {
  return ByteOrder{}.u32(bytes.data() + at);
}

struct Block {
  std::uint32_t type = 0;
  std::span<const std::uint8_t> bytes;
};

// Returns the first of `blocks`, which must be whole, and removes it from `blocks`. Not for
// untrusted lengths: WholeBlocks checks those.
inline Block take_block(std::span<const std::uint8_t>& blocks) {
  const std::size_t length = word(blocks, kLengthAt);
  const Block block{word(blocks, 0), blocks.first(length)};
  blocks = blocks.subspan(length);
  return block;
}

// The contents of an Enhanced Packet Block. `ticks`: in the resolution of its interface.
struct Packet {
  std::uint32_t interface = 0;
  std::uint64_t ticks = 0;
  std::uint32_t original = 0;
  std::span<const std::uint8_t> data;
};
// Returns nothing if the block is shorter than its stated data length.
inline std::optional<Packet> read_packet(std::span<const std::uint8_t> block) {
  if (block.size() < kSmallestPacket) return std::nullopt;
  const std::uint32_t captured = word(block, kCapturedAt);
  if (padded(captured) > block.size() - kSmallestPacket) return std::nullopt;
  return Packet{.interface = word(block, kPacketInterfaceAt),
                .ticks = std::uint64_t{word(block, kTimeAt)} << 32U | word(block, kTimeAt + 4),
                .original = word(block, kOriginalAt),
                .data = block.subspan(kDataAt, captured)};
}

// Calls visit(code, value) for each option from `at` to the end of the block's body.
template <typename Visit>
void read_options(std::span<const std::uint8_t> block, std::size_t at, Visit&& visit,
                  ByteOrder order = {}) {
  const std::size_t end = block.size() - kTrailer;
  while (at + 4 <= end) {
    const std::uint16_t code = order.u16(block.data() + at);
    const std::size_t length = order.u16(block.data() + at + 2);
    if (code == kEndOfOptions || padded(length) > end - at - 4) return;
    visit(code, block.subspan(at + 4, length));
    at += 4 + padded(length);
  }
}

}  // namespace rpcrdma::base::pcapng
