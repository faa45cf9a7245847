#include "trace_hooks.h"

#include <new>
#include <string>

#include <fmt/core.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/fabric/rejection.h>

namespace rpcrdma::soft {

using fabric::Time;
using trace::ConnectionTracer;

void trace_retransmission(const ConnectionTracer& trace, std::uint8_t side, std::uint32_t psn,
                          Time now) {
  trace::Fabric event;
  event.kind = trace::FabricKind::kRetransmission;
  event.side = side;
  event.psn = psn;
  event.count = 1;
  trace.emit(now, event);
}

void trace_nak(const ConnectionTracer& trace, std::uint8_t side, const wire::Aeth& aeth,
               std::uint32_t psn, Time now) {
  trace::Fabric event;
  event.kind = aeth.is_rnr() ? trace::FabricKind::kRnr : trace::FabricKind::kNak;
  event.side = side;
  event.code = aeth.value();
  event.psn = psn;
  event.count = 1;
  trace.emit(now, event);
}

void trace_timeout(const ConnectionTracer& trace, std::uint32_t psn, Time now) {
  trace::Fabric event;
  event.kind = trace::FabricKind::kTimeout;
  event.side = trace::kHere;
  event.psn = psn;
  event.count = 1;
  trace.emit(now, event);
}

void trace_peer_operation(const ConnectionTracer& trace, trace::Transfer kind,
                          const wire::Reth& reth, std::uint32_t last_psn, wire::Bytes front,
                          Time now) {
  trace::Operation event;
  event.kind = kind;
  event.side = trace::kPeer;
  event.handle = reth.rkey;
  event.offset = reth.va;
  event.length = reth.dma_length;
  event.id = last_psn;
  trace.emit(now, event, front);
}

void trace_peer_read_end(const ConnectionTracer& trace, std::uint32_t last_psn,
                         fabric::Status status, std::uint32_t length, wire::Bytes front, Time now) {
  trace::OperationEnd event;
  event.kind = trace::Transfer::kRead;
  event.side = trace::kPeer;
  event.status = static_cast<std::uint8_t>(status);
  event.length = length;
  event.id = last_psn;
  trace.emit(now, event, front);
}

void trace_fault(const ConnectionTracer& trace, FaultDirection direction, FaultAction action,
                 std::string_view rule, Time now) {
  trace::Fault event;
  event.outgoing = direction == FaultDirection::kOut ? 1 : 0;
  event.action = static_cast<std::uint8_t>(action);
  event.packets = 1;
  trace.emit(now, event, base::as_bytes(rule));
}

void trace_refused(trace::Tracer& tracer, const CmRefusal& refusal, Time now) {
  trace::ConnectionEnd event;
  event.side = trace::kHere;
  event.reject_reason = refusal.reason;
  event.peer = refusal.peer.gid();
  event.port = refusal.port;
  std::string why;
  try {
    why = fmt::format("{}: rejected, {}", refusal.peer.to_string(),
                      fabric::rejection(refusal.reason, base::as_bytes(refusal.why)));
  } catch (const std::bad_alloc&) {
    why = fabric::kOutOfMemory;
  }
  tracer.emit_if_room(tracer.no_connection(), now, event, base::as_bytes(why));
}

void trace_registration(trace::Tracer& tracer, const fabric::Memory& memory, bool begun, Time now) {
  trace::Registration event;
  event.address = reinterpret_cast<std::uintptr_t>(memory.data);
  event.length = memory.length;
  event.begun = begun ? 1 : 0;
  tracer.emit(0, now, event);
}

}  // namespace rpcrdma::soft
