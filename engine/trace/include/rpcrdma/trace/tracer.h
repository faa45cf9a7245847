// Writes the events of an endpoint's thread. Without a reader a hook costs one branch that is not
// taken:
//
//   if (trace::on(tracer)) tracer->emit(connection, now, trace::Invalidate{handle, 0, {}});
//
// so build costly arguments inside the branch. Connections and their ends are always emitted, since
// later readers get the open ones:
//
//   if (tracer != nullptr) tracer->emit(connection, now, trace::ConnectionEnd{...}, reason);
//
// Emitting an event copies it to the thread's ring, without lock, allocation or system call. A full
// ring drops the event and counts it; the endpoint never waits.
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

// Events that are emitted with and without a reader. A part of each ring is reserved for them, so
// that they are not lost when the ring is full of other events.
template <typename Event>
inline constexpr bool kAlwaysEmitted =
    std::is_same_v<Event, Connection> || std::is_same_v<Event, ConnectionEnd>;

// Belongs to one thread, which makes all calls unless a comment says otherwise.
class Tracer {
 public:
  // `ring`: number in its events' headers, 1 to 255; `bytes`: size of the ring, a power of two.
  // `one_in`: trace one connection in so many, see in_sample(); at least 1.
  Tracer(std::uint32_t ring, std::size_t bytes, std::uint32_t one_in = 1)
      : ring_(bytes, bytes / 8), number_(ring), one_in_(one_in), packets_(ring) {}

  [[nodiscard]] bool listening() const { return listening_.load(std::memory_order_relaxed); }
  // Called by the reader's thread.
  void listen(bool on) { listening_.store(on, std::memory_order_relaxed); }
  [[nodiscard]] Ring& ring() { return ring_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // For a provider that the thread drives.
  [[nodiscard]] PacketTap& packets() { return packets_; }

  // `payload`, `extra_payload`: the two parts of the bytes after the struct.
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
  // Like emit(), but never uses the reserved part of the ring, whatever the type: for events that a
  // peer can cause at any rate.
  template <typename Event>
  void emit_if_room(std::uint32_t connection, std::int64_t time, const Event& event,
                    std::span<const std::uint8_t> payload) {
    ring_.write<false>(header_of<Event>(number_, connection, time), event, payload, {});
  }

  // Writes an event that a source outside of this process assembled: `header` has its type,
  // connection, time and lengths, `fixed` its struct.
  void emit_assembled(EventHeader header, std::span<const std::uint8_t> fixed,
                      std::span<const std::uint8_t> payload,
                      std::span<const std::uint8_t> extra_payload) {
    header.ring = number_;
    const auto type = static_cast<EventType>(header.type);
    if (type == EventType::kConnection || type == EventType::kConnectionEnd) {
      ring_.write<true>(header, fixed, payload, extra_payload);
    } else {
      ring_.write<false>(header, fixed, payload, extra_payload);
    }
  }
  // Counts events that such a source lost itself.
  void lose(std::uint64_t events) { ring_.lose(events); }

  // Writes several events of one connection and time together: see Ring::Row. Not for events of
  // kAlwaysEmitted types.
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

  // Returns a number for a connection of this thread. It is unique over all rings, and among the
  // last 16 million numbers of this one.
  [[nodiscard]] std::uint32_t new_connection() {
    connections_ = connections_ == kNumberMask ? 1 : connections_ + 1;
    return number_ << 24U | connections_;
  }
  // Whether the events of a connection are traced: of the first of each `one_in` connections of
  // this thread. Of the others, only Connection, with `not_sampled`, and ConnectionEnd are emitted:
  // their owner gives this tracer to no part of such a connection.
  [[nodiscard]] bool in_sample(std::uint32_t connection) const {
    return ((connection & kNumberMask) - 1) % one_in_ == 0;
  }
  // Number shared by all connections that were never established and were given none, so that
  // failed connection attempts cannot exhaust the numbers of open connections.
  [[nodiscard]] std::uint32_t no_connection() const { return number_ << 24U; }

 private:
  static constexpr std::uint32_t kNumberMask = 0xffffff;

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
  std::uint32_t one_in_;
  std::uint32_t connections_ = 0;
  PacketTap packets_;
};

[[nodiscard]] inline bool on(const Tracer* tracer) {
  return tracer != nullptr && tracer->listening();
}

}  // namespace rpcrdma::trace
