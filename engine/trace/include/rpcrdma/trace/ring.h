// Lock-free ring of bytes that carries events from one thread to another, with one writer and one
// reader, neither of which ever waits for the other. If the ring is full, the event is lost.
//
// The writer stores in this order:
// 1. the event to the memory, or one more to lost();
// 2. the end up to which the reader may read; a reader that sees it also sees all earlier losses;
// 3. emitted(): a reader that sees n emitted events and then reads finds all of them, read or lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace/ring_memory.h>

namespace rpcrdma::trace {

class Ring {
 public:
  // `bytes`: a power of two. `spare`: bytes reserved for events that are written with
  // kMayHaveSpare.
  explicit Ring(std::size_t bytes, std::size_t spare = 0)
      : bytes_(bytes), spare_(spare), memory_(bytes) {
    see_room();
  }

  // ----- the writer

  // Writes several events and publishes them together at its end, so that the writer's state need
  // not be stored for each of them. While there is a Row, all writes must go through it.
  // kMayHaveSpare: see Ring().
  template <bool kMayHaveSpare>
  class Row {
   public:
    [[gnu::always_inline]] explicit Row(Ring& ring)
        : ring_(ring), end_(ring.end_), limit_(ring.limit_), origin_(ring.origin_) {}
    [[gnu::always_inline]] ~Row() { publish(); }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    // Writes an event. It never wraps: if it does not fit before the end of the memory, it is
    // written at the front. The lengths in `header` are filled in.
    template <typename Event>
    [[gnu::always_inline]] void write(EventHeader header, const Event& event,
                                      std::span<const std::uint8_t> payload,
                                      std::span<const std::uint8_t> extra_payload) {
      static_assert(std::is_trivially_copyable_v<Event> && sizeof(Event) % 8 == 0);
      header.fixed = sizeof(Event);
      header.payload = static_cast<std::uint32_t>(payload.size() + extra_payload.size());
      std::uint8_t* const to = begin(event_bytes(header));
      if (to == nullptr) return;
      // Constructed as objects, not copied as bytes, so that they are assembled in place. Wide
      // loads of data just stored in smaller parts would stall the processor.
      ::new (to) EventHeader(header);
      ::new (to + sizeof header) Event(event);
      if (header.payload != 0)
        write_payload(to + sizeof header + sizeof event, header.payload, payload, extra_payload);
      end(event_bytes(header));
    }
    // Writes an event whose struct is given as bytes, header.fixed of them; a multiple of 8.
    void write(const EventHeader& header, std::span<const std::uint8_t> fixed,
               std::span<const std::uint8_t> payload,
               std::span<const std::uint8_t> extra_payload = {}) {
      std::uint8_t* const to = begin(event_bytes(header));
      if (to == nullptr) return;
      ::new (to) EventHeader(header);
      if (!fixed.empty()) std::memcpy(to + sizeof header, fixed.data(), fixed.size());
      if (header.payload != 0)
        write_payload(to + sizeof header + fixed.size(), header.payload, payload, extra_payload);
      end(event_bytes(header));
    }

   private:
    // Returns the place for an event of this size; null: it is lost.
    [[gnu::always_inline]] std::uint8_t* begin(std::uint64_t size) {
      if (kMayHaveSpare || size > limit_ - end_) [[unlikely]] {
        publish();
        const bool is_room = ring_.make_room(size, kMayHaveSpare ? 0 : ring_.spare_);
        end_ = ring_.end_;
        limit_ = ring_.limit_;
        origin_ = ring_.origin_;
        if (!is_room) return nullptr;
      }
      return reinterpret_cast<std::uint8_t*>(origin_ + end_);
    }
    [[gnu::always_inline]] void end(std::uint64_t size) {
      end_ += size;
      ++written_;
      will_write(origin_ + end_);
    }
    [[gnu::always_inline]] void publish() {
      ring_.end_ = end_;
      if (kMayHaveSpare && limit_ < end_) ring_.limit_ = end_;  // it used reserved space
      ring_.published_end_.store(end_, std::memory_order_release);
      ring_.count(written_);
      written_ = 0;
    }

    Ring& ring_;
    // Copies of the ring's members.
    std::uint64_t end_;
    std::uint64_t limit_;
    std::uintptr_t origin_;
    std::uint64_t written_ = 0;  // not published yet
  };

  // Writes a Row of one event.
  template <bool kMayHaveSpare, typename Event>
  [[gnu::always_inline]] void write(const EventHeader& header, const Event& event,
                                    std::span<const std::uint8_t> payload,
                                    std::span<const std::uint8_t> extra_payload) {
    Row<kMayHaveSpare>(*this).write(header, event, payload, extra_payload);
  }
  template <bool kMayHaveSpare = false>
  void write(const EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload = {}) {
    Row<kMayHaveSpare>(*this).write(header, fixed, payload, extra_payload);
  }

  // Counts events that were lost before they reached the writer, as if the ring had been full.
  void lose(std::uint64_t events) {
    lost_.store(lost_.load(std::memory_order_relaxed) + events, std::memory_order_relaxed);
    published_end_.store(end_, std::memory_order_release);
    count(events);
  }

  // ----- the reader

  // The events that were in the ring at construction, in order. Only one Batch of a ring at a time.
  class Batch {
   public:
    explicit Batch(Ring& ring)
        : ring_(&ring),
          at_(ring.begin_.load(std::memory_order_relaxed)),
          end_(ring.published_end_.load(std::memory_order_acquire)),
          lost_(ring.lost_.load(std::memory_order_relaxed)) {
      look();
    }

    [[nodiscard]] bool empty() const { return at_ == end_; }
    // Bytes left to read in the ring, including skipped space.
    [[nodiscard]] std::uint64_t bytes_left() const { return end_ - at_; }
    // Number of events that the ring had lost before the newest of these; may include later ones.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

    // The first event that is left, if there is one; valid until give_back().
    [[nodiscard]] const EventHeader& header() const { return header_; }
    [[nodiscard]] std::span<const std::uint8_t> event() const {
      return {&ring_->memory_[at_ & (ring_->bytes_ - 1)], event_bytes(header_)};
    }
    void next() {
      at_ += event_bytes(header_);
      look();
    }

    // Returns the space of the events read so far to the writer.
    void give_back() { ring_->begin_.store(at_, std::memory_order_release); }

   private:
    void look() {
      if (at_ == end_) return;
      const std::uint8_t* from = &ring_->memory_[at_ & (ring_->bytes_ - 1)];
      std::uint16_t type = 0;
      std::memcpy(&type, from, sizeof type);
      if (type == 0) {
        at_ += ring_->bytes_ - (at_ & (ring_->bytes_ - 1));
        from = ring_->memory_.data();
      }
      std::memcpy(&header_, from, sizeof header_);
    }

    Ring* ring_;
    std::uint64_t at_;
    std::uint64_t end_;
    std::uint64_t lost_;
    EventHeader header_;
  };

  // Calls `visitor` (header, whole event) with each event in the ring, and frees the space.
  template <typename Visitor>
  void read(Visitor&& visitor) {
    Batch batch(*this);
    for (; !batch.empty(); batch.next()) visitor(batch.header(), batch.event());
    batch.give_back();
  }

  // ----- any thread

  // Populates the memory, so that the writer need not (RingMemory).
  void populate() const { memory_.populate(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t emitted() const { return emitted_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  // Returns false if an event of this size does not fit; it is then counted as lost.
  [[gnu::noinline]] bool make_room(std::uint64_t size, std::size_t spare) {
    const std::uint64_t to_wrap = bytes_ - (end_ & (bytes_ - 1));
    const std::uint64_t needed = spare + (size <= to_wrap ? size : to_wrap + size);
    known_begin_ = begin_.load(std::memory_order_acquire);
    const bool is_room = end_ - known_begin_ + needed <= bytes_;
    if (!is_room) {
      lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      count(1);
    } else if (size > to_wrap) {
      // Type 0: skip the rest of the memory. A multiple of 8 bytes is left, so the type fits.
      const std::uint16_t skip = 0;
      std::memcpy(&memory_[end_ & (bytes_ - 1)], &skip, sizeof skip);
      end_ += to_wrap;
    }
    see_room();
    return is_room;
  }
  // Sets limit_ to the end of the contiguous known space, without the reserved part.
  void see_room() {
    const std::uint64_t at = end_ & (bytes_ - 1);
    origin_ = reinterpret_cast<std::uintptr_t>(memory_.data()) + at - end_;
    const std::uint64_t room = bytes_ - (end_ - known_begin_);
    limit_ = end_ + std::min(bytes_ - at, room - std::min<std::uint64_t>(room, spare_));
  }

  // One function for all types of events: after the kernel has run in between, the code that emits
  // events must be fetched into the cache again, so it should be small.
  [[gnu::noinline]] static void write_payload(std::uint8_t* to, std::size_t bytes,
                                              std::span<const std::uint8_t> payload,
                                              std::span<const std::uint8_t> extra_payload) {
    for (std::size_t at = kClaimed; at < bytes; at += kLine) claim(to + kAhead + at);
    if (bytes % 8 != 0) std::memset(to + bytes / 8 * 8, 0, 8);
    copy(to, payload);
    if (!extra_payload.empty())
      std::memcpy(to + payload.size(), extra_payload.data(), extra_payload.size());
  }

  // Most payloads are the front of a short message, for which a function call costs more than the
  // copy.
  [[gnu::always_inline]] static void copy(std::uint8_t* to, std::span<const std::uint8_t> payload) {
    constexpr std::size_t kStep = 32, kShort = 4 * kStep;
    const std::uint8_t* const from = payload.data();
    const std::size_t size = payload.size();
    if (size < kStep || size > kShort) {
      if (size != 0) std::memcpy(to, from, size);
      return;
    }
    for (std::size_t at = 0; at + kStep < size; at += kStep) std::memcpy(to + at, from + at, kStep);
    std::memcpy(to + size - kStep, from + size - kStep, kStep);  // overlaps the previous step
  }

  // The memory ahead was read by the reader's processor some time ago, whose cache still owns it.
  // Getting it back takes longer than writing it unless it is requested early. Each event requests
  // two cache lines, which covers most events; longer ones request more (write_payload()). It is
  // only a prefetch, so it may go past the end of the memory.
  static constexpr std::uint64_t kAhead = 1024, kLine = 64, kClaimed = 2 * kLine;
  [[gnu::always_inline]] static void will_write(std::uintptr_t end) {
    const auto* const next = reinterpret_cast<const std::uint8_t*>(end);
    for (std::uint64_t at = 0; at < kClaimed; at += kLine) claim(next + kAhead + at);
  }
  [[gnu::always_inline]] static void claim(const std::uint8_t* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
  }

  void count(std::uint64_t events) {
    emitted_.store(emitted_.load(std::memory_order_relaxed) + events, std::memory_order_release);
  }

  const std::uint64_t bytes_;
  const std::size_t spare_;
  const RingMemory memory_;
  // Used by the writer only.
  alignas(64) std::uint64_t end_ = 0;
  std::uint64_t limit_ = 0;    // end_ may grow up to here without make_room()
  std::uintptr_t origin_ = 0;  // the byte at position p is at address origin_ + p
  std::uint64_t known_begin_ = 0;
  std::atomic<std::uint64_t> emitted_{0}, lost_{0};
  // Shared by both sides.
  alignas(64) std::atomic<std::uint64_t> published_end_{0};
  alignas(64) std::atomic<std::uint64_t> begin_{0};
};

}  // namespace rpcrdma::trace
