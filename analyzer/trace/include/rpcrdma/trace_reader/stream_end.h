// Determines how an endpoint's live stream ended. An endpoint that stops in order closes its
// connections, and the last event of each of its threads is a sum (Loss). One that was killed, or
// crashed, does neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace_reader {

class StreamEnd {
 public:
  // Processes the data of a frame of link type kUpperPdu.
  void frame(std::span<const std::uint8_t> data) {
    const auto event = trace::event_in_pdu(data);
    const auto view = event ? trace::view_event(*event) : std::nullopt;
    if (view) take(*view);
  }

  void take(const trace::EventView& view) {
    using trace::EventType;
    switch (static_cast<EventType>(view.header.type)) {
      case EventType::kEndpoint:
        return;
      case EventType::kLoss:
        lost_ |= trace::read_event<trace::Loss>(view)->lost != 0;
        behind_sums_.erase(view.header.ring);
        return;
      case EventType::kConnection:
        ++connections_;
        break;
      case EventType::kConnectionEnd:
        if (trace::read_event<trace::ConnectionEnd>(view)->established != 0) --connections_;
        break;
      default:
        break;
    }
    if (view.header.ring != 0 && behind_sums_.size() < kMostRings) ++behind_sums_[view.header.ring];
  }

  // Valid at the end of the stream. If events were lost, the ends of connections may be among them.
  [[nodiscard]] bool in_order() const {
    return behind_sums_.empty() && (connections_ <= 0 || lost_);
  }

 private:
  static constexpr std::size_t kMostRings = 256;

  std::map<std::uint32_t, std::uint64_t> behind_sums_;  // events after the last sums, by ring
  std::int64_t connections_ = 0;                        // that are open
  bool lost_ = false;
};

}  // namespace rpcrdma::trace_reader
