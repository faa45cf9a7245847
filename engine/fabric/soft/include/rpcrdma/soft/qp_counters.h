// Counters of a Reliable Connected queue pair (IBA volume 1 chapter 9).
#pragma once

#include <cstdint>

namespace rpcrdma::soft {

struct QpCounters {
  std::uint64_t packets_in = 0, packets_out = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;  // payload
  std::uint64_t retransmitted = 0;            // packets
  std::uint64_t timeouts = 0;
  std::uint64_t acks_in = 0, acks_out = 0;
  std::uint64_t naks_in = 0, naks_out = 0;  // except for RNR
  std::uint64_t rnr_in = 0, rnr_out = 0;
  std::uint64_t duplicates = 0;    // requests of the peer that had already been executed
  std::uint64_t out_of_order = 0;  // requests of the peer after a gap
  std::uint64_t ghosts = 0;        // responses to nothing in flight
  std::uint64_t dropped = 0;       // malformed, or invalid in this state

  QpCounters& operator+=(const QpCounters& o) {
    packets_in += o.packets_in;
    packets_out += o.packets_out;
    bytes_in += o.bytes_in;
    bytes_out += o.bytes_out;
    retransmitted += o.retransmitted;
    timeouts += o.timeouts;
    acks_in += o.acks_in;
    acks_out += o.acks_out;
    naks_in += o.naks_in;
    naks_out += o.naks_out;
    rnr_in += o.rnr_in;
    rnr_out += o.rnr_out;
    duplicates += o.duplicates;
    out_of_order += o.out_of_order;
    ghosts += o.ghosts;
    dropped += o.dropped;
    return *this;
  }
};

}  // namespace rpcrdma::soft
