// What stands: the connections that are up and the credits they have, as told last. A reader that
// comes later is told of it first; its Connection events say that they are told anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace {

class StateSnapshot {
 public:
  // Of one ring not more connections are remembered; of more, those that came last. They can be
  // more only if ends of connections were lost.
  static constexpr std::size_t kMostOfARing = std::size_t{1} << 16;
  // Bytes of Connection events, of all rings: a hundred times what those of a busy server take.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  StateSnapshot() = default;
  explicit StateSnapshot(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // `event`: all of it. Most are of no concern.
  void take(const EventHeader& header, std::span<const std::uint8_t> event) {
    switch (static_cast<EventType>(header.type)) {
      case EventType::kConnection:
        return begin(header.connection, event);
      case EventType::kConnectionEnd:
        return end(header.connection);
      case EventType::kCredits:
        return credits(header.connection, event);
      default:
        return;
    }
  }

  // Nobody is told of them for a while, so what is known will be out of date.
  void forget_credits();

  // Gives `visitor` (header, event) each connection, and behind it its credits.
  template <typename Visitor>
  void emit(Visitor&& visitor) const {
    for (const auto& [number, connection] : connections_) {
      visit(connection.event, visitor);
      for (const auto& event : connection.credits) visit(event, visitor);
    }
  }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  using Event = std::vector<std::uint8_t>;
  struct Connection {
    Event event;
    std::array<Event, 2> credits;  // by side; empty: not told yet
  };

  template <typename Visitor>
  static void visit(const Event& event, Visitor&& visitor) {
    if (event.empty()) return;
    EventHeader header;
    std::memcpy(&header, event.data(), sizeof header);
    visitor(static_cast<const EventHeader&>(header), std::span<const std::uint8_t>(event));
  }

  void begin(std::uint32_t number, std::span<const std::uint8_t> event);
  void end(std::uint32_t number);
  void credits(std::uint32_t number, std::span<const std::uint8_t> event);

  // In order of their numbers: those of a ring lie together, the oldest first.
  std::map<std::uint32_t, Connection> connections_;
  std::array<std::size_t, 256> of_ring_{};
  std::size_t bytes_ = 0;
  std::size_t most_bytes_ = kMostBytes;
};

}  // namespace rpcrdma::trace
