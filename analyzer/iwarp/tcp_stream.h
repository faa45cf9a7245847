// One direction of a TCP connection: puts its segments in order and finds out what is missing.
//
// A segment beyond the next expected byte is held until the gap before it is explained:
//   - the missing bytes come: the network had lost them, or they were merely late;
//   - the peer acknowledges them though they were never seen: the capture lost them.
// Held segments are bounded. When there are too many, the capture is taken to have lost the gap.
#pragma once

#include "tcp_segment.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/roce/connection.h>

namespace rpcrdma::iwarp {

// Receives the bytes of a stream in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void on_bytes(Bytes bytes, const roce::PacketMeta& meta) = 0;
  // `count` bytes of the stream are not in the capture.
  virtual void on_missing(std::uint64_t count, const roce::PacketMeta& meta) = 0;
};

class TcpStream {
 public:
  // Segments held in one stream, in bytes, with what each costs.
  static constexpr std::size_t kMaxHeld = 4U << 20;
  static constexpr std::size_t kMaxHeldSegments = 4096;
  // Segments further ahead than the largest window are not held.
  static constexpr std::int32_t kFarthest = 1 << 30;

  [[nodiscard]] bool started() const { return started_; }
  // The next byte has this sequence number.
  void start(std::uint32_t next) {
    *this = TcpStream{};
    started_ = true;
    next_ = next;
  }
  // Continues with whichever segment comes next.
  void restart() { *this = TcpStream{}; }
  [[nodiscard]] std::uint32_t next() const { return next_; }

  // Takes a segment with payload. Returns how many retransmissions it showed.
  std::uint64_t segment(const TcpSegment& s, roce::SideCounters& counters, ByteSink& sink);
  // The peer has received everything before `acknowledged`.
  void acknowledge(std::uint32_t acknowledged, const roce::PacketMeta& meta,
                   roce::SideCounters& counters, ByteSink& sink);
  // The stream ends with the byte before this sequence number.
  void finish_at(std::uint32_t sequence) {
    end_known_ = true;
    end_ = sequence;
  }
  // Everything came, or its receiver has acknowledged it.
  [[nodiscard]] bool ended() const {
    return end_known_ && (!started_ || sequence_diff(next_, end_) >= 0 ||
                          (acked_known_ && sequence_diff(acked_, end_) > 0));
  }
  // The bytes before `acknowledged` were not all seen yet.
  [[nodiscard]] bool unseen(std::uint32_t acknowledged) const {
    if (!started_) return false;
    const std::int32_t ahead = sequence_diff(acknowledged, next_);
    const bool is_fin = ahead == 1 && end_known_ && end_ == next_;
    return ahead > 0 && ahead < kFarthest && !is_fin;
  }
  // Nothing more comes: passes on what is held.
  void flush(const roce::PacketMeta& meta, roce::SideCounters& counters, ByteSink& sink);
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct Held {
    std::uint32_t sequence = 0;
    std::size_t wire_length = 0;
    std::vector<std::uint8_t> bytes;
    roce::PacketMeta meta;
  };

  void deliver(Bytes bytes, std::size_t wire_length, const roce::PacketMeta& meta, ByteSink& sink);
  void hold(std::uint32_t sequence, Bytes bytes, std::size_t wire_length,
            const roce::PacketMeta& meta);
  void drain(ByteSink& sink);
  void skip_gap(const roce::PacketMeta& meta, roce::SideCounters& counters, ByteSink& sink);
  void skip_acknowledged(const roce::PacketMeta& meta, roce::SideCounters& counters,
                         ByteSink& sink);
  [[nodiscard]] std::uint64_t segments_in(std::uint64_t bytes) const;
  [[nodiscard]] bool is_copy(const TcpSegment& s) const;
  [[nodiscard]] bool sent_again(const TcpSegment& s) const;

  bool started_ = false;
  bool acked_known_ = false;
  bool end_known_ = false;
  std::uint32_t next_ = 0;
  std::uint32_t acked_ = 0;
  std::uint32_t end_ = 0;
  std::vector<Held> held_;  // sorted, without overlap
  std::size_t held_bytes_ = 0;
  std::size_t largest_ = 0;          // payload seen
  std::int64_t gap_since_ns_ = 0;    // while segments are held
  std::uint32_t repeated_acks_ = 0;  // for the byte before the gap
  std::uint32_t far_ = 0;            // segments in a row that were too far away
  // The segment that was furthest ahead, to recognise copies of it and later transmissions.
  struct Last {
    std::uint32_t sequence = 0;
    std::size_t length = 0;
    std::uint32_t ip_id = 0;
    roce::PacketMeta meta;
  };
  static constexpr std::size_t kRecent = 8;
  std::array<Last, kRecent> recent_{};
  std::size_t next_recent_ = 0;
};

}  // namespace rpcrdma::iwarp
