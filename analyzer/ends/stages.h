// Divides the time of one Call, of which several points saw a half, into stages.
#pragma once

#include "clocks.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/ends/half.h>

namespace rpcrdma::ends {

// A half with its source, in the order from the caller to the responder.
struct Seen {
  const HalfCall* half = nullptr;
  std::uint32_t source = 0;
  PointKind kind = PointKind::kWire;  // kClient is the caller's end, kServer the responder's
};

// What became of a Call.
enum class Divided : std::uint8_t {
  kYes,
  kSeenOnce,    // by one source
  kUnanswered,  // a half has no Reply
  kLost,        // events or packets of it were lost
  kJumped,      // a clock jumped
  kDisordered,  // it contradicts itself, whatever the clocks are
};

// Fills times and stages of `call`. Side and stage are not decided here.
[[nodiscard]] Divided divide(const std::vector<Seen>& seen, const Clocks& clocks, EndsCall& call);

// Decides the side and its stage. `credit`: whose time waiting for a credit is.
void blame(EndsCall& call, std::int64_t slow_ns, Side credit);

// Whose grant or request the limit was; kInconclusive: not known.
[[nodiscard]] Side side_of_credit(const std::vector<Seen>& seen);

}  // namespace rpcrdma::ends
