// Sums of a host's endpoints, and of a fleet's hosts. They saturate: counts come from the bus.
#pragma once

#include <cstdint>
#include <limits>

#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {

inline void add_to(std::uint64_t& sum, std::uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

inline void add_to(CreditSums& sum, const CreditSums& c) {
  add_to(sum.requested, c.requested);
  add_to(sum.granted, c.granted);
  add_to(sum.in_use, c.in_use);
  add_to(sum.waiting, c.waiting);
}

inline void add_to(ViewFindings& sum, const ViewFindings& f) {
  add_to(sum.errors, f.errors);
  add_to(sum.warnings, f.warnings);
  add_to(sum.notes, f.notes);
}

inline void add_to(std::optional<ViewRates>& sum, const std::optional<ViewRates>& r) {
  if (!r) return;
  if (!sum) sum.emplace();
  sum->calls += r->calls;
  sum->errors += r->errors;
  sum->read_bytes += r->read_bytes;
  sum->write_bytes += r->write_bytes;
  sum->reply_bytes += r->reply_bytes;
}

// An endpoint that has ended has no connections any more, but had Calls shortly before.
inline void add_to(HostState& h, const EndpointState& e) {
  add_to(h.rates, e.rates);
  add_to(h.findings, e.findings);
  if (e.end != EndpointEnd::kNone) return;
  ++h.running;
  add_to(h.connections, e.connections);
  add_to(h.credits, e.credits);
  h.recordings += e.recordings.size();
}

inline void add_to(FleetTotals& t, const HostState& h) {
  add_to(t.endpoints, h.running);
  add_to(t.connections, h.connections);
  add_to(t.recordings, h.recordings);
  add_to(t.credits, h.credits);
  add_to(t.rates, h.rates);
  add_to(t.findings, h.findings);
}

}  // namespace rpcrdma::fleet
