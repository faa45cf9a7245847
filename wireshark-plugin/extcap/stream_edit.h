// Makes of the stream that comes from an endpoint the one that Wireshark gets: cut to the snap
// length, without what was not wanted, and with statistics that tell Wireshark how much was lost.
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
    bool packets = false;        // Ethernet frames, and not events
    std::uint64_t left_out = 0;  // of events
    std::uint32_t snaplen = 0;   // bytes of a packet, or of a message that an event tells; 0: all
  };

  explicit StreamEdit(const Options& options)
      : options_(options), events_({options.left_out, options.snaplen}) {}

  // `blocks`: whole ones, as base::WholeBlocks gives them; they may be anybody's. What is to be
  // written is appended to `out`. False: they are not an endpoint's; nothing more can be done.
  [[nodiscard]] bool add(std::span<const std::uint8_t> blocks, std::vector<std::uint8_t>& out);
  // Something has come.
  [[nodiscard]] bool begun() const { return begun_; }
  // Nothing follows.
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
