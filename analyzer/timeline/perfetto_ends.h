// The tracks of both ends in the Trace Event Format.
#pragma once

#include "trace_events.h"

#include <cstdint>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::timeline {

struct EndsClock {
  std::int64_t reference_ns = 0;  // of the trace; nothing is drawn before it
  std::int64_t shift_ns = 0;      // from the clock of `ends` to that of the trace
};

// Draws Ends::calls.
void write_ends(TraceEvents& trace, const ends::Ends& ends, const EndsClock& clock);

}  // namespace rpcrdma::timeline
