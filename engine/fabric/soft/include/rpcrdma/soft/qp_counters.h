// What a Reliable Connected queue pair counts (IBA volume 1 chapter 9).
#pragma once

#include <cstdint>

namespace rpcrdma::soft {

struct QpCounters {
  std::uint64_t packets_in = 0, packets_out = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0;  // payload
  std::uint64_t retransmitted = 0;            // packets
  std::uint64_t timeouts = 0;
  std::uint64_t acks_in = 0, acks_out = 0;
  std::uint64_t naks_in = 0, naks_out = 0;  // but for RNR
  std::uint64_t rnr_in = 0, rnr_out = 0;
  std::uint64_t duplicates = 0;    // requests of the peer's that had been executed before
  std::uint64_t out_of_order = 0;  // its requests behind a gap
  std::uint64_t ghosts = 0;        // responses to nothing that is outstanding
  std::uint64_t dropped = 0;       // malformed, or not fit for the state

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
