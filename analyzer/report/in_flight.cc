#include "in_flight.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::report {

namespace {

// The limit of HDR-10.
constexpr std::int64_t kLongNs = 30'000'000'000;

bool is_in_flight(const Report& r, const OpenCall& call) {
  return r.capture.last_ns - call.time_ns < kLongNs;
}

}  // namespace

InFlight in_flight(const Report& r) {
  InFlight all;
  for (const OpenCall& call : r.edges.open_calls) {
    if (is_in_flight(r, call)) ++all[{call.connection, call.reverse}];
  }
  return all;
}

std::uint64_t counted_in_flight(const Report& r) {
  return static_cast<std::uint64_t>(
      std::count_if(r.edges.open_calls.begin(), r.edges.open_calls.end(),
                    [&](const OpenCall& call) { return call.counted && is_in_flight(r, call); }));
}

std::uint64_t counted_in_flight(const Report& r, const ProcedureKey& procedure) {
  return static_cast<std::uint64_t>(std::count_if(
      r.edges.open_calls.begin(), r.edges.open_calls.end(), [&](const OpenCall& call) {
        return call.counted && call.procedure == procedure && is_in_flight(r, call);
      }));
}

std::string unanswered_text(const Report& r, std::uint64_t unanswered, std::uint64_t in_flight) {
  in_flight = std::min(in_flight, unanswered);
  const std::uint64_t never = unanswered - in_flight;
  std::string text;
  if (never != 0) text += fmt::format(", {} without an answer", never);
  if (in_flight != 0) {
    text += fmt::format(", {} in flight when the {} ends", in_flight,
                        r.capture.packets.roce + r.capture.packets.iwarp == 0 && r.recording.any()
                            ? "recording"
                            : "capture");
  }
  return text;
}

}  // namespace rpcrdma::report
