// Trace hooks of a channel and its roles (engine/trace). Callers check whether there is a reader;
// the code for tracing is here, out of the path of every Call.
#pragma once

#include "served_call.h"
#include "work_id.h"
#include "work_queue.h"

#include <cstdint>
#include <span>
#include <string_view>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/work.h>
#include <rpcrdma/protocol/requester.h>
#include <rpcrdma/trace/connection_tracer.h>
#include <rpcrdma/wire/chunks.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::protocol {

// A Receive is complete. `message`: the bytes in the Receive's block.
[[gnu::noinline]] void trace_received(const trace::ConnectionTracer& trace,
                                      const fabric::Completion& completion, wire::Bytes message,
                                      fabric::Time now);
[[gnu::noinline]] void trace_receives(const trace::ConnectionTracer& trace, std::uint32_t posted,
                                      std::uint32_t total, fabric::Time now);

// Work was passed to the fabric: emits Messages, and Operations, whose ids are the requests' ids.
[[gnu::noinline]] void trace_posted(const trace::ConnectionTracer& trace,
                                    std::span<const WorkRequest> work, fabric::Time now);
// All Reads for a message are complete, each of at most `most` bytes. `id`: theirs, except for the
// part.
[[gnu::noinline]] void trace_reads_ended(const trace::ConnectionTracer& trace,
                                         const CheckedReads& message, const PulledChunks& pulled,
                                         std::uint32_t most, WorkId id, fabric::Time now);
// A request failed; the Error event that follows explains it. An Operation gets its OperationEnd.
[[gnu::noinline]] void trace_failed(const trace::ConnectionTracer& trace,
                                    const fabric::Completion& completion, fabric::Time now);
// Returns the side that caused a request to fail, if its status shows it.
[[nodiscard]] std::uint8_t side_of_failure(fabric::Status status);

[[gnu::noinline]] void trace_advertised(const trace::ConnectionTracer& trace,
                                        const wire::Segment& segment, fabric::Access access,
                                        std::uint32_t xid, fabric::Time now);
[[gnu::noinline]] void trace_invalidated(const trace::ConnectionTracer& trace, std::uint32_t handle,
                                         std::uint8_t side, fabric::Time now);

[[gnu::noinline]] void trace_credits(const trace::ConnectionTracer& trace,
                                     const trace::Credits& credits, fabric::Time now);
[[gnu::noinline]] void trace_credit_wait(const trace::ConnectionTracer& trace, std::uint32_t xid,
                                         bool begun, fabric::Time now);

// `stream`: the RPC message, or its front.
[[gnu::noinline]] void trace_call(const trace::ConnectionTracer& trace, std::uint32_t xid,
                                  std::uint8_t side, wire::Bytes stream, fabric::Time now);
[[gnu::noinline]] void trace_call_end(const trace::ConnectionTracer& trace,
                                      const CallOutcome& outcome);
[[gnu::noinline]] void trace_call_end(const trace::ConnectionTracer& trace,
                                      const ServedCall& served, fabric::Time now);

[[gnu::noinline]] void trace_error(const trace::ConnectionTracer& trace, std::uint8_t side,
                                   std::uint32_t xid, std::string_view reason, fabric::Time now);
// A Call is answered with an RDMA_ERROR of `version`. `rule`: its ID, or empty.
[[gnu::noinline]] void trace_refused(const trace::ConnectionTracer& trace, std::uint8_t side,
                                     std::uint32_t version, wire::RdmaErr error, std::uint32_t xid,
                                     std::string_view rule, std::string_view reason,
                                     fabric::Time now);

}  // namespace rpcrdma::protocol
