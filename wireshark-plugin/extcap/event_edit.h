// Filters and truncates an endpoint's events, and keeps the stream consistent: the recording names
// the excluded types, the counters of Loss events match the remaining events, and an event with a
// truncated message is well-formed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/trace/read.h>

namespace rpcrdma::extcap {

class EventEdit {
 public:
  struct Options {
    std::uint64_t left_out = 0;  // trace::type_bit()
    std::size_t snaplen = 0;     // bytes kept of a message, or of an RDMA Read or Write; 0: all
  };
  // From the latest Loss events of all rings.
  struct Sums {
    std::uint64_t emitted = 0;  // without excluded ones
    std::uint64_t lost = 0;
  };

  explicit EventEdit(const Options& options) : options_(options) {}

  // Returns the event to write in place of this one, valid until the next call; nothing: the event
  // is excluded. `view`: of event_bytes().
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> edit(const trace::EventView& view);

  [[nodiscard]] Sums sums() const;

 private:
  struct Ring {
    std::uint64_t left_out = 0;  // events
    Sums emitted;
  };

  void put(trace::EventHeader header, std::span<const std::uint8_t> fixed,
           std::span<const std::uint8_t> payload);
  template <typename Event>
  void put_changed(const trace::EventView& view, const Event& event);

  const Options options_;
  std::map<std::uint32_t, Ring> rings_;  // at most 255
  std::vector<std::uint8_t> event_;
};

}  // namespace rpcrdma::extcap
