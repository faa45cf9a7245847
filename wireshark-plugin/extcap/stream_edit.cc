#include "stream_edit.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <rpcrdma/capture/pcapng_blocks.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::extcap {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Of pcapng (draft-ietf-opsawg-pcapng section 4), in this machine's byte order, which is that of
// endpoints too.
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kTrailer = 4;  // the length again
// In a description.
constexpr std::size_t kSnaplenAt = 12;
constexpr std::size_t kLeastDescription = 20;
// In a packet.
constexpr std::size_t kTimeAt = 12;
constexpr std::size_t kCapturedAt = 20;
constexpr std::size_t kOriginalAt = 24;
constexpr std::size_t kDataAt = 28;

std::uint32_t word(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void set_word(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t value) {
  const auto to = static_cast<std::uint32_t>(value);
  std::memcpy(bytes.data() + at, &to, sizeof to);
}

std::size_t padded(std::size_t n) {
  return (n + 3) / 4 * 4;
}

void append(std::vector<std::uint8_t>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// What was captured; nothing when the block has not so much.
std::optional<Bytes> data_of(Bytes block) {
  if (block.size() < kDataAt + kTrailer) return std::nullopt;
  const std::size_t captured = word(block, kCapturedAt);
  const std::size_t room = block.size() - kDataAt - kTrailer;
  if (captured > room || padded(captured) > room) return std::nullopt;
  return block.subspan(kDataAt, captured);
}

// The same packet with other data. It still tells how many there were of it, unless an older
// endpoint told less than is told now. `old`: bytes that it had captured.
void put_packet(Bytes block, std::size_t old, Bytes data, Bytes more,
                std::vector<std::uint8_t>& out) {
  const std::size_t at = out.size();
  const std::size_t size = data.size() + more.size();
  append(out, block.first(kDataAt));
  append(out, data);
  append(out, more);
  out.resize(at + kDataAt + padded(size));
  append(out, block.subspan(kDataAt + padded(old)));
  set_word(out, at + kLengthAt, out.size() - at);
  set_word(out, out.size() - kTrailer, out.size() - at);
  set_word(out, at + kCapturedAt, size);
  set_word(out, at + kOriginalAt, std::max<std::size_t>(size, word(block, kOriginalAt)));
}

}  // namespace

bool StreamEdit::add(Bytes blocks, std::vector<std::uint8_t>& out) {
  begun_ = begun_ || !blocks.empty();
  while (!blocks.empty()) {
    const std::size_t length = word(blocks, kLengthAt);
    if (!block(blocks.first(length), out)) return false;
    blocks = blocks.subspan(length);
  }
  return true;
}

bool StreamEdit::block(Bytes block, std::vector<std::uint8_t>& out) {
  const std::uint32_t type = word(block, 0);
  if (type == kEnhancedPacket) {
    const auto data = data_of(block);
    if (!data) return false;
    time_ = static_cast<std::int64_t>(std::uint64_t{word(block, kTimeAt)} << 32U |
                                      word(block, kTimeAt + 4));
    if (!options_.packets) return event(block, *data, out);
    const std::size_t most = options_.snaplen == 0 ? data->size() : options_.snaplen;
    put_packet(block, data->size(), data->first(std::min(most, data->size())), {}, out);
    return true;
  }
  const std::size_t at = out.size();
  append(out, block);
  if (type == kInterfaceDescription && options_.packets) {
    if (block.size() < kLeastDescription) return false;
    set_word(out, at + kSnaplenAt, options_.snaplen);
  }
  return true;
}

bool StreamEdit::event(Bytes block, Bytes data, std::vector<std::uint8_t>& out) {
  const auto view = check_.take(data);
  if (!view) return false;
  const auto edited = events_.edit(*view);
  if (!edited) return true;
  put_packet(block, data.size(), trace::kUpperPduTags, *edited, out);
  const auto type = static_cast<trace::EventType>(view->header.type);
  if (type == trace::EventType::kLoss && events_.sums().lost != lost_reported_) {
    lost_reported_ = events_.sums().lost;
    put_statistics(out);
  }
  return true;
}

void StreamEdit::end(std::vector<std::uint8_t>& out) const {
  if (begun_ && !options_.packets) put_statistics(out);
}

void StreamEdit::put_statistics(std::vector<std::uint8_t>& out) const {
  const EventEdit::Sums sums = events_.sums();
  capture::PcapngBlocks blocks;
  blocks.statistics(
      {.last_ns = time_, .received = sums.emitted, .dropped = sums.lost, .by_interface = true});
  append(out, blocks.bytes());
}

}  // namespace rpcrdma::extcap
