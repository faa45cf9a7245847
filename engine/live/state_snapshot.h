// State snapshot: the open connections with their latest credits and sums. Each new reader gets it
// first; its Connection events are marked as replayed.
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
  // Limit of the connections kept per ring; beyond it the oldest are dropped. It can be exceeded
  // only if end events were lost.
  static constexpr std::size_t kMostOfARing = std::size_t{1} << 16;
  // Bytes of Connection events and sums of all rings: a hundred times what a busy server needs.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  // Procedures of one connection whose sums are kept.
  static constexpr std::size_t kMostProcedures = 256;

  StateSnapshot() = default;
  explicit StateSnapshot(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // `event`: the whole event. Most types are ignored.
  void take(const EventHeader& header, std::span<const std::uint8_t> event) {
    switch (static_cast<EventType>(header.type)) {
      case EventType::kConnection:
        return begin(header.connection, event);
      case EventType::kConnectionEnd:
        return end(header.connection);
      case EventType::kCredits:
        return credits(header.connection, event);
      case EventType::kProcedureSums:
      case EventType::kConnectionSums:
        return sums(header.connection, event);
      default:
        return;
    }
  }

  // Called when no credits will be received for a while, so that the known ones go stale.
  void forget_credits();

  // Calls `visitor` (header, event) with each connection, followed by its credits and sums.
  template <typename Visitor>
  void emit(Visitor&& visitor) const {
    for (const auto& [number, connection] : connections_) {
      visit(connection.event, visitor);
      for (const auto& event : connection.credits) visit(event, visitor);
      for (const auto& [of, event] : connection.sums) visit(event, visitor);
    }
  }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  using Event = std::vector<std::uint8_t>;
  // Side, program, version, procedure; 0 each for the sums of the whole connection.
  using SumsOf = std::array<std::uint32_t, 4>;
  struct Connection {
    Event event;
    std::array<Event, 2> credits;  // by side; empty: not known yet
    std::map<SumsOf, Event> sums;
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
  void sums(std::uint32_t number, std::span<const std::uint8_t> event);

  // In order of their numbers: connections of a ring are adjacent, the oldest first.
  std::map<std::uint32_t, Connection> connections_;
  std::array<std::size_t, 256> of_ring_{};
  std::size_t bytes_ = 0;
  std::size_t most_bytes_ = kMostBytes;
};

}  // namespace rpcrdma::trace
