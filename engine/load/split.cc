#include <algorithm>

#include <rpcrdma/load/split.h>

namespace rpcrdma::load {

namespace {

using fabric::Time;

// Clocks of two machines may drift apart by one second in this many.
constexpr std::uint64_t kDrift = 1000;

}  // namespace

Split split(const protocol::CallTimes& times, const std::optional<ServerTimes>& server) {
  Split s;
  const Time all = std::max<Time>(times.replied - times.sent, 0);
  s.rest = all;
  if (server) {
    const auto most = static_cast<std::uint64_t>(all);
    const std::uint64_t reading = std::min(server->reading, most);
    const std::uint64_t working = std::min(server->working, most - reading);
    const std::uint64_t cut = server->reading - reading;
    s.implausible = cut > most / kDrift || server->working - working > most / kDrift - cut;
    s.reading = static_cast<Time>(reading);
    s.working = static_cast<Time>(working);
    s.rest -= *s.reading + *s.working;
  }
  // Both in one iteration of the loop: their order is unknown.
  if (times.arrived == 0 || times.arrived >= times.replied) return s;
  // An acknowledgment arrives later than the message it acknowledges, and the server did not wait
  // for it.
  s.sending = std::clamp<Time>(times.arrived - times.sent, 0, s.rest);
  s.rest -= *s.sending;
  return s;
}

}  // namespace rpcrdma::load
