#include "stream_edit.h"

#include <algorithm>
#include <cstring>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/base/pcapng/read_blocks.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::extcap {
namespace {

using Bytes = std::span<const std::uint8_t>;
namespace pcapng = base::pcapng;

void set_word(std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t value) {
  const auto to = static_cast<std::uint32_t>(value);
  std::memcpy(bytes.data() + at, &to, sizeof to);
}

void append(std::vector<std::uint8_t>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Copies a packet with other data. Keeps its original length, unless an older endpoint reported
// less than is reported now. `old`: number of bytes captured before.
void put_packet(Bytes block, std::size_t old, Bytes data, Bytes more,
                std::vector<std::uint8_t>& out) {
  const std::size_t at = out.size();
  const std::size_t size = data.size() + more.size();
  append(out, block.first(pcapng::kDataAt));
  append(out, data);
  append(out, more);
  out.resize(at + pcapng::kDataAt + pcapng::padded(size));
  append(out, block.subspan(pcapng::kDataAt + pcapng::padded(old)));
  set_word(out, at + pcapng::kLengthAt, out.size() - at);
  set_word(out, out.size() - pcapng::kTrailer, out.size() - at);
  set_word(out, at + pcapng::kCapturedAt, size);
  set_word(out, at + pcapng::kOriginalAt,
           std::max<std::size_t>(size, pcapng::word(block, pcapng::kOriginalAt)));
}

}  // namespace

bool StreamEdit::add(Bytes blocks, std::vector<std::uint8_t>& out) {
  begun_ = begun_ || !blocks.empty();
  while (!blocks.empty()) {
    if (!block(pcapng::take_block(blocks).bytes, out)) return false;
  }
  return true;
}

bool StreamEdit::block(Bytes block, std::vector<std::uint8_t>& out) {
  const std::uint32_t type = pcapng::word(block, 0);
  if (type == pcapng::kEnhancedPacket) {
    const auto packet = pcapng::read_packet(block);
    if (!packet) return false;
    time_ = static_cast<std::int64_t>(packet->ticks);
    const Bytes data = packet->data;
    if (!options_.packets) return event(block, data, out);
    const std::size_t most = options_.snaplen == 0 ? data.size() : options_.snaplen;
    put_packet(block, data.size(), data.first(std::min(most, data.size())), {}, out);
    return true;
  }
  const std::size_t at = out.size();
  append(out, block);
  if (type == pcapng::kInterfaceDescription && options_.packets) {
    if (block.size() < pcapng::kSmallestInterface) return false;
    set_word(out, at + pcapng::kSnaplenAt, options_.snaplen);
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
  base::PcapngBlocks blocks;
  blocks.statistics(
      {.last_ns = time_, .received = sums.emitted, .dropped = sums.lost, .by_interface = true});
  append(out, blocks.bytes());
}

}  // namespace rpcrdma::extcap
