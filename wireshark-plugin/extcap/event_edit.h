// Makes of an endpoint's events those that were asked for, so that the stream still says nothing
// false: who reads it is told which types were left out, the sums of Loss events are of what is
// left, and an event of which bytes of a message were cut is a whole one with fewer of them.
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
    std::size_t snaplen = 0;     // bytes of a message, or of an RDMA Read or Write; 0: all
  };
  // By the latest Loss events, of all rings.
  struct Sums {
    std::uint64_t emitted = 0;  // without those left out
    std::uint64_t lost = 0;
  };

  explicit EventEdit(const Options& options) : options_(options) {}

  // The event to be written in place of this one, valid until the next call; nothing: it is left
  // out. `view`: of event_bytes().
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
  std::map<std::uint32_t, Ring> rings_;  // of which there are 255 at most
  std::vector<std::uint8_t> event_;
};

}  // namespace rpcrdma::extcap
