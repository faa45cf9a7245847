// Keeps the events in order of time although some are known late: a Reply's time is that of its
// completion, and its chunk lists follow in later records. Its place is reserved; events behind it
// wait until it is released. The wait is bounded in time and number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <rpcrdma/kernel/event_sink.h>
#include <rpcrdma/trace/event.h>

namespace rpcrdma::tracepoints {

class Outbox {
 public:
  using Place = std::uint64_t;  // 0: none

  // The longest time, in the time of the trace, that events wait.
  static constexpr std::int64_t kLongestWait = 2'000'000'000;
  static constexpr std::size_t kMost = 32768;

  explicit Outbox(kernel::EventSink& sink) : sink_(sink) {}

  template <typename Event>
  void emit(std::uint32_t connection, std::int64_t time, const Event& e,
            std::span<const std::uint8_t> payload = {}) {
    if (empty()) {
      sink_.emit(connection, after_last(time), e, payload);
      return;
    }
    set(add(time), connection, e, payload);
    if (!at(first_).held) drain();
  }

  // Reserves the place of an event at this time, which is not before that of earlier ones.
  [[nodiscard]] Place reserve(std::int64_t time);
  // Puts the event into its place, where it may be replaced until it is released. Nothing happens
  // if the place waited too long.
  template <typename Event>
  void put(Place place, std::uint32_t connection, const Event& e,
           std::span<const std::uint8_t> payload = {}) {
    if (is_here(place)) set(at(place), connection, e, payload);
  }
  // Whether the place still waits.
  [[nodiscard]] bool is_here(Place place) const {
    return place >= first_ && place < next_ && place != 0;
  }
  // The event in its place is complete, or there is none.
  void release(Place& place);

  [[nodiscard]] bool empty() const { return first_ == next_; }
  // Releases places that wait too long.
  void expire(std::int64_t now);
  // Releases all.
  void flush();

 private:
  struct Slot {
    trace::EventHeader header;
    std::array<std::uint8_t, 128> fixed;
    std::vector<std::uint8_t> payload;
    std::int64_t time = 0;
    bool held = false;
    bool filled = false;
  };

  [[nodiscard]] Slot& at(Place place) { return slots_[place & (slots_.size() - 1)]; }
  Slot& add(std::int64_t time);
  void drain();
  [[nodiscard]] std::int64_t after_last(std::int64_t time) {
    return last_ = time > last_ ? time : last_;
  }

  template <typename Event>
  void set(Slot& slot, std::uint32_t connection, const Event& e,
           std::span<const std::uint8_t> payload) {
    static_assert(sizeof e <= sizeof slot.fixed);
    slot.header = {};
    slot.header.type = static_cast<std::uint16_t>(Event::kType);
    slot.header.fixed = sizeof e;
    slot.header.payload = static_cast<std::uint32_t>(payload.size());
    slot.header.connection = connection;
    std::memcpy(slot.fixed.data(), &e, sizeof e);
    slot.payload.assign(payload.begin(), payload.end());
    slot.filled = true;
  }

  kernel::EventSink& sink_;
  std::vector<Slot> slots_{64};  // a power of two
  Place first_ = 1, next_ = 1;
  std::int64_t last_ = INT64_MIN;  // time of the latest event that left
};

}  // namespace rpcrdma::tracepoints
