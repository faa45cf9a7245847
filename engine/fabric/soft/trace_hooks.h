// Trace hooks of the queue pairs and the adapter: their packets, the peer's accesses to local
// memory, and rejected connections (engine/trace). The callers check whether tracing is on; the
// code for the traced case is here, outside the path of every packet.
//
// An Operation of the peer is identified by the PSN of its last packet or last response. A Read
// keeps it when only its missing part is requested again.
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

// A packet is retransmitted, by this side or the peer.
[[gnu::noinline, gnu::cold]] void trace_retransmission(const trace::ConnectionTracer& trace,
                                                       std::uint8_t side, std::uint32_t psn,
                                                       fabric::Time now);
// A NAK or RNR NAK with this syndrome.
[[gnu::noinline, gnu::cold]] void trace_nak(const trace::ConnectionTracer& trace, std::uint8_t side,
                                            const wire::Aeth& aeth, std::uint32_t psn,
                                            fabric::Time now);
// The packets from `psn` on were not acknowledged in time.
[[gnu::noinline, gnu::cold]] void trace_timeout(const trace::ConnectionTracer& trace,
                                                std::uint32_t psn, fabric::Time now);

// A Write of the peer is complete, or a Read begins. `front`: a Write's first bytes.
[[gnu::noinline]] void trace_peer_operation(const trace::ConnectionTracer& trace,
                                            trace::Transfer kind, const wire::Reth& reth,
                                            std::uint32_t last_psn, wire::Bytes front,
                                            fabric::Time now);
// The last response of a peer's Read is sent, or its memory is no longer advertised.
[[gnu::noinline]] void trace_peer_read_end(const trace::ConnectionTracer& trace,
                                           std::uint32_t last_psn, fabric::Status status,
                                           std::uint32_t length, wire::Bytes front,
                                           fabric::Time now);

// A declared fault is applied to a packet. `rule`: its text.
[[gnu::noinline, gnu::cold]] void trace_fault(const trace::ConnectionTracer& trace,
                                              FaultDirection direction, FaultAction action,
                                              std::string_view rule, fabric::Time now);

// A connection request was rejected without asking an owner. The connection never existed, so a
// later reader need not know of its end: unlike other ends, this one is emitted only while there
// are readers. A peer can send such requests as fast as it likes, so their events may not use the
// ring space reserved for the ends of real connections, or their numbers.
[[gnu::noinline, gnu::cold]] void trace_refused(trace::Tracer& tracer, const CmRefusal& refusal,
                                                fabric::Time now);

// Memory was registered (`begun`) or deregistered.
[[gnu::noinline, gnu::cold]] void trace_registration(trace::Tracer& tracer,
                                                     const fabric::Memory& memory, bool begun,
                                                     fabric::Time now);

}  // namespace rpcrdma::soft
