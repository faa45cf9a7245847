#include "reader_queue.h"

#include "make_event.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::trace {

void ReaderQueue::begin(std::span<const std::uint8_t> blocks, std::int64_t wall_offset) {
  append(blocks);
  wall_offset_ = wall_offset;
}

std::uint64_t ReaderQueue::add(const EventBatch& batch) {
  for (const auto& [ring, events] : batch.lost) sums(ring).lost += events;
  emit_losses(batch.time);
  const std::vector<std::uint8_t>& blocks = batch.blocks.bytes();
  const std::size_t room = full_ ? 0 : most_ - std::min(most_, waiting().size());
  auto end = batch.events.end();
  if (blocks.size() > room) {
    full_ = true;
    end = std::upper_bound(batch.events.begin(), end, room,
                           [](std::size_t n, const auto& event) { return n < event.end; });
  }
  if (end != batch.events.begin()) append(std::span(blocks).first(std::prev(end)->end));
  for (auto event = batch.events.begin(); event != end; ++event) ++sums(event->ring).received;
  for (auto event = end; event != batch.events.end(); ++event) ++sums(event->ring).lost;
  auto lost = static_cast<std::uint64_t>(batch.events.end() - end);
  for (const auto& [ring, events] : batch.passed_over) {
    sums(ring).lost += events;
    lost += events;
  }
  return lost;
}

void ReaderQueue::emit_losses(std::int64_t now) {
  if (!reopen()) return;
  for (std::uint32_t ring = 0; ring < rings_.size(); ++ring) {
    if (rings_[ring].lost != rings_[ring].last_lost) emit(ring, now);
  }
}

void ReaderQueue::emit_sums(std::int64_t now, bool end) {
  if (!end && !reopen()) return;
  bool any = false;
  for (std::uint32_t ring = 0; ring < rings_.size(); ++ring) {
    const Sums& s = rings_[ring];
    if (s.received + s.lost == s.last_emitted) continue;
    emit(ring, now);
    any = true;
  }
  // With periodic sums a reader can distinguish an idle endpoint from one that no longer runs.
  if (any || end || rings_.empty() || content_ == Content::kPackets) return;
  if (waiting().size() > most_ / 2) return;  // a reader that does not read needs no sign of life
  emit(static_cast<std::uint32_t>(rings_.size() - 1), now);
}

bool ReaderQueue::reopen() {
  full_ = !has_room();
  return !full_;
}

// Sums may exceed the limit by one block per ring, since nothing else fits then.
void ReaderQueue::emit(std::uint32_t ring, std::int64_t now) {
  Sums& s = rings_[ring];
  s.last_emitted = s.received + s.lost;
  s.last_lost = s.lost;
  base::PcapngBlocks block;
  if (content_ == Content::kPackets) {
    put_statistics(block, now + wall_offset_);
  } else {
    block.packet(now + wall_offset_, kUpperPduTags,
                 make_event(ring, now, Loss{s.last_emitted, s.last_lost}));
  }
  append(block.bytes());
}

// The latest statistics of a stream count.
void ReaderQueue::put_statistics(base::PcapngBlocks& blocks, std::int64_t wall_now) const {
  base::PcapngBlocks::Statistics sum;
  sum.last_ns = wall_now;
  sum.by_interface = true;
  for (const Sums& s : rings_) {
    sum.received += s.received + s.lost;
    sum.dropped += s.lost;
  }
  blocks.statistics(sum);
}

void ReaderQueue::append(std::span<const std::uint8_t> blocks) {
  bytes_.insert(bytes_.end(), blocks.begin(), blocks.end());
}

void ReaderQueue::went(std::size_t n) {
  gone_ += n;
  // Compacts rarely enough that on average each byte is moved at most once.
  if (gone_ >= bytes_.size() - gone_) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(gone_));
    gone_ = 0;
  }
}

void ReaderQueue::swap(std::vector<std::uint8_t>& buffer) {
  std::swap(bytes_, buffer);
  gone_ = 0;
}

ReaderQueue::Sums& ReaderQueue::sums(std::uint32_t ring) {
  if (ring >= rings_.size()) rings_.resize(ring + 1);
  return rings_[ring];
}

}  // namespace rpcrdma::trace
