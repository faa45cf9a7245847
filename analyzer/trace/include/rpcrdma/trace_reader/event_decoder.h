// Reports the fields of an event to a sink: as rpcrdma.trace.*, or as the field of messages with
// the same meaning, so that a filter for an XID or a handle finds both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::trace_reader {

// Offsets count from the event's header. Fields missing from an older, shorter struct have
// defaults.
void decode_event(const Event& event, decode::Sink& sink);

// Whether the event is shown even if not all events are requested: descriptions of an endpoint and
// its connections, and failures. Other events occur with every Call.
[[nodiscard]] bool is_notable(const Event& event);

// "message, operation": the known types in a set (trace::type_bit()).
[[nodiscard]] std::string type_names(std::uint64_t types);

// The XID of the Call that the event concerns, if any.
[[nodiscard]] std::optional<std::uint32_t> xid_of(const Event& event);

}  // namespace rpcrdma::trace_reader
