#include "tcp_stream.h"

#include <algorithm>

namespace rpcrdma::iwarp {

namespace {

// What a held segment costs beyond its bytes.
constexpr std::size_t kHeldOverhead = 64;
// A segment that fills a gap later than this was sent again, unless its IP ID shows otherwise.
constexpr std::int64_t kReorderedWithin = 3'000'000;  // ns
// As many acknowledgements of the same byte make TCP retransmit (RFC 5681 section 3.2).
constexpr std::uint32_t kFastRetransmit = 3;
// The same packet at a second capture point comes at once.
constexpr std::int64_t kCopyWithin = 5'000'000;  // ns

std::int32_t ip_id_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int16_t>(a - b);
}

}  // namespace

// The least number of segments that these bytes need.
std::uint64_t TcpStream::segments_in(std::uint64_t bytes) const {
  const std::uint64_t each = std::max<std::size_t>(largest_, 1);
  return largest_ == 0 ? 1 : (bytes + each - 1) / each;
}

bool TcpStream::is_copy(const TcpSegment& s) const {
  return s.ip_id != 0 && std::any_of(recent_.begin(), recent_.end(), [&](const Last& l) {
           return l.length == s.wire_payload && l.sequence == s.sequence && l.ip_id == s.ip_id &&
                  s.meta.time_ns - l.meta.time_ns <= kCopyWithin;
         });
}

// Whether a segment that fills a gap was sent after those behind the gap.
bool TcpStream::sent_again(const TcpSegment& s) const {
  // IPv4 numbers the packets of a connection one by one, if it numbers them at all.
  if (s.ip_id != 0) {
    const Last* ahead = nullptr;
    for (const Last& l : recent_) {
      if (l.ip_id == 0 || sequence_diff(l.sequence, s.sequence) <= 0) continue;
      if (ahead == nullptr || sequence_diff(l.sequence, ahead->sequence) < 0) ahead = &l;
    }
    if (ahead != nullptr && ahead->ip_id != s.ip_id) return ip_id_diff(s.ip_id, ahead->ip_id) > 0;
  }
  return repeated_acks_ >= kFastRetransmit || s.meta.time_ns - gap_since_ns_ > kReorderedWithin;
}

std::uint64_t TcpStream::segment(const TcpSegment& s, roce::SideCounters& counters,
                                 ByteSink& sink) {
  if (s.wire_payload == 0) return 0;
  if (!started_) {
    started_ = true;
    next_ = s.sequence;
  }
  const std::int32_t ahead = sequence_diff(s.sequence, next_);
  if (ahead > kFarthest || ahead < -kFarthest) {
    // Several in a row: the capture continues at another place of the stream.
    constexpr std::uint32_t kElsewhere = 4;
    if (++far_ < kElsewhere) return 0;
    flush(s.meta, counters, sink);
    ++counters.lost_capture;
    sink.on_missing(UINT64_MAX, s.meta);
    start(s.sequence);
    return segment(s, counters, sink);
  }
  far_ = 0;
  const auto length = static_cast<std::int64_t>(s.wire_payload);
  if (is_copy(s)) {
    ++counters.captured_twice;
    return 0;
  }
  const bool probe = s.wire_payload == 1 && ahead == -1;  // keep-alive
  std::uint64_t again = 0;
  recent_[next_recent_++ % kRecent] = {s.sequence, s.wire_payload, s.ip_id, s.meta};
  largest_ = std::max(largest_, s.wire_payload);
  if (ahead + length <= 0) {
    if (probe) return 0;
    ++counters.retransmitted;
    return 1;
  }
  if (held_.empty() && ahead <= 0) {
    const auto known = static_cast<std::size_t>(-ahead);
    if (known != 0) {
      ++counters.retransmitted;
      again = 1;
    }
    deliver(s.payload.subspan(std::min(known, s.payload.size())), s.wire_payload - known, s.meta,
            sink);
    return again;
  }
  // Only what no earlier segment brought is new.
  if (ahead <= 0 && !held_.empty()) {
    if (sent_again(s)) {
      ++counters.lost_network;
      ++counters.retransmitted;
      again = 1;
    } else {
      ++counters.reordered;
    }
    repeated_acks_ = 0;
  }
  if (held_.empty()) gap_since_ns_ = s.meta.time_ns;
  std::int64_t at = std::max<std::int64_t>(ahead, 0);
  const std::int64_t end = ahead + length;
  bool any = false;
  const auto piece = [&](std::int64_t from, std::int64_t to) {
    if (from >= to) return;
    any = true;
    const auto skip = static_cast<std::size_t>(from - ahead);
    const auto size = static_cast<std::size_t>(to - from);
    Bytes bytes = s.payload.subspan(std::min(skip, s.payload.size()));
    bytes = bytes.first(std::min(size, bytes.size()));
    hold(next_ + static_cast<std::uint32_t>(from), bytes, size, s.meta);
  };
  // hold() changes the list, so the free ranges are found first.
  std::vector<std::pair<std::int64_t, std::int64_t>> free;
  for (const Held& h : held_) {
    const std::int64_t begin = sequence_diff(h.sequence, next_);
    if (begin >= end) break;
    free.emplace_back(at, std::min(begin, end));
    at = std::max<std::int64_t>(at, begin + static_cast<std::int64_t>(h.wire_length));
  }
  free.emplace_back(at, end);
  for (const auto& [from, to] : free) piece(from, to);
  if (!any && ahead > 0) {
    ++counters.retransmitted;
    ++again;
  }
  drain(sink);
  skip_acknowledged(s.meta, counters, sink);
  while (held_bytes_ > kMaxHeld || held_.size() > kMaxHeldSegments)
    skip_gap(s.meta, counters, sink);
  return again;
}

void TcpStream::deliver(Bytes bytes, std::size_t wire_length, const roce::PacketMeta& meta,
                        ByteSink& sink) {
  bytes = bytes.first(std::min(bytes.size(), wire_length));
  next_ += static_cast<std::uint32_t>(wire_length);
  if (!bytes.empty()) sink.on_bytes(bytes, meta);
  if (bytes.size() < wire_length) sink.on_missing(wire_length - bytes.size(), meta);
}

void TcpStream::hold(std::uint32_t sequence, Bytes bytes, std::size_t wire_length,
                     const roce::PacketMeta& meta) {
  const auto at = std::find_if(held_.begin(), held_.end(), [&](const Held& h) {
    return sequence_diff(h.sequence, sequence) > 0;
  });
  held_.insert(at, {sequence, wire_length, {bytes.begin(), bytes.end()}, meta});
  held_bytes_ += bytes.size() + kHeldOverhead;
}

// Passes on the held segments that are next.
void TcpStream::drain(ByteSink& sink) {
  std::size_t used = 0;
  while (used < held_.size() && held_[used].sequence == next_) {
    Held& h = held_[used++];
    held_bytes_ -= h.bytes.size() + kHeldOverhead;
    deliver(h.bytes, h.wire_length, h.meta, sink);
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(used));
}

void TcpStream::skip_gap(const roce::PacketMeta& meta, roce::SideCounters& counters,
                         ByteSink& sink) {
  const std::uint32_t gap = held_.front().sequence - next_;
  counters.lost_capture += segments_in(gap);
  next_ += gap;
  sink.on_missing(gap, meta);
  drain(sink);
  repeated_acks_ = 0;
  gap_since_ns_ = meta.time_ns;
}

void TcpStream::skip_acknowledged(const roce::PacketMeta& meta, roce::SideCounters& counters,
                                  ByteSink& sink) {
  while (acked_known_ && !held_.empty() && sequence_diff(acked_, held_.front().sequence) >= 0) {
    skip_gap(meta, counters, sink);
  }
}

void TcpStream::acknowledge(std::uint32_t acknowledged, const roce::PacketMeta& meta,
                            roce::SideCounters& counters, ByteSink& sink) {
  if (!started_) return;
  if (acknowledged == next_ && !held_.empty()) ++repeated_acks_;
  if (acked_known_ && sequence_diff(acknowledged, acked_) <= 0) return;
  if (sequence_diff(acknowledged, next_) < -kFarthest) return;
  acked_known_ = true;
  acked_ = acknowledged;
  skip_acknowledged(meta, counters, sink);
}

void TcpStream::flush(const roce::PacketMeta& meta, roce::SideCounters& counters, ByteSink& sink) {
  while (!held_.empty()) skip_gap(meta, counters, sink);
  if (!started_ || !acked_known_) return;
  // A FIN takes one number, too; without the FIN itself, a difference of one may be that.
  const std::int32_t missing = sequence_diff(end_known_ ? end_ : acked_ - 1, next_);
  if (missing <= 0 || missing > kFarthest) return;
  counters.lost_capture += segments_in(static_cast<std::uint64_t>(missing));
  next_ += static_cast<std::uint32_t>(missing);
  sink.on_missing(static_cast<std::uint64_t>(missing), meta);
}

}  // namespace rpcrdma::iwarp
