// Events on their way from one thread to another: a ring of bytes with one writer and one reader,
// neither of which ever waits for the other. A writer that finds it full loses the event.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace {

class Ring {
 public:
  explicit Ring(std::size_t bytes)  // a power of two
      : bytes_(bytes), memory_(std::make_unique<std::uint8_t[]>(bytes)) {}

  // ----- the writer

  // `fixed`: header.fixed bytes. An event never wraps: what does not fit before the end of the
  // memory begins anew at its front.
  void write(const EventHeader& header, const void* fixed, std::span<const std::uint8_t> tail,
             std::span<const std::uint8_t> more_tail) {
    const std::uint64_t size = event_bytes(header);
    std::uint64_t at = end_;
    const std::uint64_t to_wrap = bytes_ - (at & (bytes_ - 1));
    const std::uint64_t needed = size <= to_wrap ? size : to_wrap + size;
    emitted_.store(emitted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (needed > bytes_ - (at - known_begin_)) {
      known_begin_ = begin_.load(std::memory_order_acquire);
      if (needed > bytes_ - (at - known_begin_)) {
        lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return;
      }
    }
    if (size > to_wrap) {
      // Of type 0: the rest of the memory is to be skipped. A multiple of 8 is left, so there is
      // room for the type.
      const std::uint16_t skip = 0;
      std::memcpy(&memory_[at & (bytes_ - 1)], &skip, sizeof skip);
      at += to_wrap;
    }
    std::uint8_t* to = &memory_[at & (bytes_ - 1)];
    std::memcpy(to, &header, sizeof header);
    to += sizeof header;
    std::memcpy(to, fixed, header.fixed);
    to += header.fixed;
    if (header.tail % 8 != 0) std::memset(to + header.tail / 8 * 8, 0, 8);
    if (!tail.empty()) std::memcpy(to, tail.data(), tail.size());
    if (!more_tail.empty()) std::memcpy(to + tail.size(), more_tail.data(), more_tail.size());
    end_ = at + size;
    published_end_.store(end_, std::memory_order_release);
  }

  // ----- the reader

  // Gives `visitor` each event (header, bytes behind it) that is there, and makes room.
  template <typename Visitor>
  void read(Visitor&& visitor) {
    std::uint64_t at = begin_.load(std::memory_order_relaxed);
    const std::uint64_t end = published_end_.load(std::memory_order_acquire);
    while (at != end) {
      const std::uint8_t* const from = &memory_[at & (bytes_ - 1)];
      std::uint16_t type = 0;
      std::memcpy(&type, from, sizeof type);
      if (type == 0) {
        at += bytes_ - (at & (bytes_ - 1));
        continue;
      }
      EventHeader header;
      std::memcpy(&header, from, sizeof header);
      visitor(static_cast<const EventHeader&>(header),
              std::span<const std::uint8_t>(from, event_bytes(header)));
      at += event_bytes(header);
    }
    begin_.store(at, std::memory_order_release);
  }

  // ----- any thread

  [[nodiscard]] std::uint64_t emitted() const { return emitted_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  const std::uint64_t bytes_;
  std::unique_ptr<std::uint8_t[]> memory_;
  // The writer's.
  alignas(64) std::uint64_t end_ = 0;
  std::uint64_t known_begin_ = 0;
  std::atomic<std::uint64_t> emitted_{0}, lost_{0};
  // What each tells the other.
  alignas(64) std::atomic<std::uint64_t> published_end_{0};
  alignas(64) std::atomic<std::uint64_t> begin_{0};
};

}  // namespace rpcrdma::trace
