// What a queue pair tells of the packets below, and of what the peer does with the memory here, and
// what an adapter tells, while somebody listens (engine/trace). Whether somebody does is asked
// where things happen; what is done then stands here, apart from what every packet goes through.
//
// An Operation of the peer's is named by the PSN of its last packet, or last response: that of a
// Read stays the same when only what is missing of it is asked for again.
#pragma once

#include <cstdint>
#include <string_view>

#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/soft/cm.h>
#include <rpcrdma/soft/fault_rules.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {

// A packet that was sent before goes out again, or comes again.
[[gnu::noinline, gnu::cold]] void trace_retransmission(const trace::ConnectionTracer& trace,
                                                       std::uint8_t side, std::uint32_t psn,
                                                       fabric::Time now);
// A NAK or RNR NAK with this syndrome.
[[gnu::noinline, gnu::cold]] void trace_nak(const trace::ConnectionTracer& trace, std::uint8_t side,
                                            const wire::Aeth& aeth, std::uint32_t psn,
                                            fabric::Time now);
// Nothing has come of the packets from `psn` on.
[[gnu::noinline, gnu::cold]] void trace_timeout(const trace::ConnectionTracer& trace,
                                                std::uint32_t psn, fabric::Time now);

// A Write of the peer's is complete, or a Read is begun. `front`: a Write's first bytes.
[[gnu::noinline]] void trace_peer_operation(const trace::ConnectionTracer& trace,
                                            trace::Transfer kind, const wire::Reth& reth,
                                            std::uint32_t last_psn, wire::Bytes front,
                                            fabric::Time now);
// The last response of a Read of the peer's goes out, or what it reads is not exposed any more.
[[gnu::noinline]] void trace_peer_read_end(const trace::ConnectionTracer& trace,
                                           std::uint32_t last_psn, fabric::Status status,
                                           std::uint32_t length, wire::Bytes front,
                                           fabric::Time now);

// A declared fault is done to a packet. `rule`: as it was written.
[[gnu::noinline, gnu::cold]] void trace_fault(const trace::ConnectionTracer& trace,
                                              FaultDirection direction, FaultAction action,
                                              std::string_view rule, fabric::Time now);

// A connection that was asked for and refused here, whose owner was not asked. It is the end of one
// that never was: nothing stands that a later reader would have to know, so unlike other ends it is
// told only while somebody listens. And anybody may ask as fast as packets come: so it takes none
// of the room that is kept for the ends of connections that were, and none of their numbers.
[[gnu::noinline, gnu::cold]] void trace_refused(trace::Tracer& tracer, const CmRefusal& refusal,
                                                fabric::Time now);

// Memory is registered (`begun`), or is so no longer.
[[gnu::noinline, gnu::cold]] void trace_registration(trace::Tracer& tracer,
                                                     const fabric::Memory& memory, bool begun,
                                                     fabric::Time now);

}  // namespace rpcrdma::soft
