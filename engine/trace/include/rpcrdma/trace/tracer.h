// Where an endpoint's thread tells its events. With nobody listening a hook is one branch that is
// not taken:
//
//   if (trace::on(tracer)) tracer->tell(connection, now, trace::Withdraw{handle, 0, {}});
//
// so arguments that cost something are made within. Connections and their ends are told always,
// since who comes later is told of those that are up:
//
//   if (tracer != nullptr) tracer->tell(connection, now, trace::ConnectionEnd{...}, reason);
//
// An event is a copy into the thread's ring: no lock, no allocation, no call of the system. A ring
// that is full loses the event, and counts it; the endpoint never waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace/packet_tap.h>
#include <rpcrdma/trace/ring.h>

namespace rpcrdma::trace {

// Told whether anybody listens or not. A part of each ring is kept free for these, so that one that
// is full of other events does not make them forgotten.
template <typename Event>
inline constexpr bool kAlwaysEmitted =
    std::is_same_v<Event, Connection> || std::is_same_v<Event, ConnectionEnd>;

// Of one thread, which alone calls everything but what says otherwise.
class Tracer {
 public:
  // `ring`: number in its events' headers, 1 to 255; `bytes`: of the ring, a power of two.
  Tracer(std::uint32_t ring, std::size_t bytes)
      : ring_(bytes, bytes / 8), number_(ring), packets_(ring) {}

  [[nodiscard]] bool listening() const { return listening_.load(std::memory_order_relaxed); }
  // By the reader's thread.
  void listen(bool on) { listening_.store(on, std::memory_order_relaxed); }
  [[nodiscard]] Ring& ring() { return ring_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // Of a provider that the thread drives.
  [[nodiscard]] PacketTap& packets() { return packets_; }

  // `tail`: as many parts as make up the bytes behind the struct.
  template <typename Event>
  [[gnu::always_inline]] void emit(std::uint32_t connection, std::int64_t time,
                                   const Event& event) {
    emit(connection, time, event, std::span<const std::uint8_t>{});
  }
  template <typename Event>
  [[gnu::always_inline]] void emit(std::uint32_t connection, std::int64_t time, const Event& event,
                                   std::span<const std::uint8_t> payload,
                                   std::span<const std::uint8_t> extra_payload = {}) {
    ring_.write<kAlwaysEmitted<Event>>(header_of<Event>(number_, connection, time), event, payload,
                                       extra_payload);
  }
  // The same, but it has no part in what is kept free for events that are told always, whatever its
  // type: for what anybody may make happen as often as he likes.
  template <typename Event>
  void emit_if_room(std::uint32_t connection, std::int64_t time, const Event& event,
                    std::span<const std::uint8_t> payload) {
    ring_.write<false>(header_of<Event>(number_, connection, time), event, payload, {});
  }

  // Several of one connection and time, one behind the other: see Ring::Row. Not for events that
  // are told always.
  class Row {
   public:
    [[gnu::always_inline]] Row(Tracer& tracer, std::uint32_t connection, std::int64_t time)
        : row_(tracer.ring_), number_(tracer.number_), connection_(connection), time_(time) {}

    template <typename Event>
    [[gnu::always_inline]] void emit(const Event& event, std::span<const std::uint8_t> payload) {
      static_assert(!kAlwaysEmitted<Event>);
      row_.write(header_of<Event>(number_, connection_, time_), event, payload, {});
    }

   private:
    Ring::Row<false> row_;
    std::uint32_t number_;
    std::uint32_t connection_;
    std::int64_t time_;
  };

  // A number for a connection of this thread; unique over all rings, and among the 16 million of
  // this one that were named last.
  [[nodiscard]] std::uint32_t new_connection() {
    constexpr std::uint32_t kMask = 0xffffff;
    connections_ = connections_ == kMask ? 1 : connections_ + 1;
    return number_ << 24U | connections_;
  }
  // Of all connections that never were and took no number, so that who asks for many in vain does
  // not bring about that one which is up shares its own.
  [[nodiscard]] std::uint32_t no_connection() const { return number_ << 24U; }

 private:
  template <typename Event>
  [[nodiscard, gnu::always_inline]] static EventHeader header_of(std::uint32_t number,
                                                                 std::uint32_t connection,
                                                                 std::int64_t time) {
    EventHeader header;
    header.type = static_cast<std::uint16_t>(Event::kType);
    header.connection = connection;
    header.ring = number;
    header.time = time;
    return header;
  }

  Ring ring_;
  std::atomic<bool> listening_{false};
  std::uint32_t number_;
  std::uint32_t connections_ = 0;
  PacketTap packets_;
};

[[nodiscard]] inline bool on(const Tracer* tracer) {
  return tracer != nullptr && tracer->listening();
}

}  // namespace rpcrdma::trace
