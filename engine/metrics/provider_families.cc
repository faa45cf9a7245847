// Metrics of a provider of RDMA in user space, of its memory, and of the process's trace.
#include "families.h"
#include "names.h"

namespace rpcrdma::metrics {

void add(Families& f, const soft::ProviderCounters& c, const char* role) {
  f.add(kPackets, {{"role", role}, {"direction", "in"}}, c.udp.received_packets);
  f.add(kPackets, {{"role", role}, {"direction", "out"}}, c.udp.sent_packets);
  f.add(kPacketBytes, {{"role", role}, {"direction", "in"}}, c.udp.received_bytes);
  f.add(kPacketBytes, {{"role", role}, {"direction", "out"}}, c.udp.sent_bytes);

  const auto drop = [&](const char* direction, const char* reason, std::uint64_t packets) {
    f.add(kDropped, {{"role", role}, {"direction", direction}, {"reason", reason}}, packets);
  };
  drop("in", "bad_icrc", c.udp.icrc_bad);
  drop("in", "too_short", c.udp.too_short);
  drop("in", "malformed", c.adapter.malformed);
  drop("in", "stray", c.adapter.strays);
  drop("in", "no_memory", c.adapter.no_memory);
  drop("in", "no_place", c.adapter.requests_crowded);
  drop("in", "unproven", c.adapter.unproven);
  drop("in", "unexpected", c.queue_pairs.ghosts + c.queue_pairs.dropped);
  drop("in", "fault", c.damaged);
  drop("out", "no_room", c.not_sent);
  drop("out", "refused", c.udp.refused);

  f.add(kHalfOpen, {{"role", role}}, c.adapter.half_open);
  f.add(kHalfOpenEvicted, {{"role", role}}, c.adapter.half_open_evicted);
  f.add(kAnswersWithheld, {{"role", role}}, c.adapter.answers_withheld);

  const soft::QpCounters& q = c.queue_pairs;
  f.add(kRetransmitted, {{"role", role}}, q.retransmitted);
  f.add(kDuplicates, {{"role", role}}, q.duplicates);
  f.add(kOutOfOrder, {{"role", role}}, q.out_of_order);
  f.add(kTransportTimeouts, {{"role", role}}, q.timeouts);
  const auto acknowledge = [&](const char* kind, std::uint64_t in, std::uint64_t out) {
    f.add(kAcknowledgements, {{"role", role}, {"direction", "in"}, {"kind", kind}}, in);
    f.add(kAcknowledgements, {{"role", role}, {"direction", "out"}, {"kind", kind}}, out);
  };
  acknowledge("ACK", q.acks_in, q.acks_out);
  acknowledge("NAK", q.naks_in, q.naks_out);
  acknowledge("RNR", q.rnr_in, q.rnr_out);
}

void add(Families& f, const MemoryFigures& memory) {
  f.add(kMemory, {}, memory.registered);
  f.add(kMemoryInUse, {}, memory.in_use);
  f.add(kMemoryLimit, {}, memory.limit);
}

void add(Families& f, const TraceFigures& t) {
  f.add(kTraceEvents, {}, t.emitted);
  f.add(kTraceLost, {{"where", "ring"}}, t.lost_in_rings);
  f.add(kTraceLost, {{"where", "recording"}}, t.lost_by_recording);
  f.add(kTraceLost, {{"where", "readers"}}, t.lost_by_readers);
  if (t.lost_in_kernel) f.add(kTraceLost, {{"where", "kernel"}}, *t.lost_in_kernel);
}

}  // namespace rpcrdma::metrics
