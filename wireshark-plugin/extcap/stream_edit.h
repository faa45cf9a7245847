// Turns an endpoint's stream into Wireshark's: truncated to the snapshot length, without excluded
// events, and with statistics of losses.
#pragma once

#include "event_edit.h"

#include <cstdint>
#include <span>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/live/stream_check.h>

namespace rpcrdma::extcap {

class StreamEdit {
 public:
  struct Options {
    bool packets = false;        // Ethernet frames; false: events
    std::uint64_t left_out = 0;  // of events
    std::uint32_t snaplen = 0;   // bytes kept of a packet, or of an event's message; 0: all
  };

  explicit StreamEdit(const Options& options)
      : options_(options), events_({options.left_out, options.snaplen}) {}

  // `blocks`: whole blocks from base::WholeBlocks, possibly hostile. Appends output to `out`.
  // Returns false if they are not from an endpoint; the stream then ends.
  [[nodiscard]] bool add(std::span<const std::uint8_t> blocks, std::vector<std::uint8_t>& out);
  // Returns whether any data has arrived.
  [[nodiscard]] bool begun() const { return begun_; }
  // Ends the stream.
  void end(std::vector<std::uint8_t>& out) const;

 private:
  using Bytes = std::span<const std::uint8_t>;

  [[nodiscard]] bool block(Bytes block, std::vector<std::uint8_t>& out);
  [[nodiscard]] bool event(Bytes block, Bytes data, std::vector<std::uint8_t>& out);
  void put_statistics(std::vector<std::uint8_t>& out) const;

  const Options options_;
  EventEdit events_;
  trace::StreamCheck check_;
  bool begun_ = false;
  std::int64_t time_ = 0;  // of the latest packet: since the epoch, ns
  std::uint64_t lost_reported_ = 0;
};

}  // namespace rpcrdma::extcap
