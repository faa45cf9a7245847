// Test support: keeps the events that a source emits.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <rpcrdma/kernel/event_sink.h>

namespace rpcrdma::kernel {

class EventLog final : public EventSink {
 public:
  struct Entry {
    trace::EventHeader header;
    std::vector<std::uint8_t> fixed, payload;

    template <typename Event>
    [[nodiscard]] bool is() const {
      return header.type == static_cast<std::uint16_t>(Event::kType);
    }
    template <typename Event>
    [[nodiscard]] Event as() const {
      Event event;
      std::memcpy(&event, fixed.data(), std::min(fixed.size(), sizeof event));
      return event;
    }
    [[nodiscard]] std::string text() const { return {payload.begin(), payload.end()}; }
  };

  void event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
             std::span<const std::uint8_t> payload,
             std::span<const std::uint8_t> extra_payload) override {
    Entry entry{header, {fixed.begin(), fixed.end()}, {payload.begin(), payload.end()}};
    entry.payload.insert(entry.payload.end(), extra_payload.begin(), extra_payload.end());
    entries.push_back(std::move(entry));
  }
  void lost(std::uint64_t count) override { lost_count += count; }
  [[nodiscard]] std::uint32_t new_connection() override { return ++numbers; }

  // Returns the entries of a type.
  template <typename Event>
  [[nodiscard]] std::vector<Entry> of() const {
    std::vector<Entry> found;
    for (const Entry& entry : entries) {
      if (entry.is<Event>()) found.push_back(entry);
    }
    return found;
  }

  std::vector<Entry> entries;
  std::uint64_t lost_count = 0;
  std::uint32_t numbers = 0;
};

}  // namespace rpcrdma::kernel
