// The fields of an event, in the words of the schema: rpcrdma.trace.*, and where a field of
// messages means the same, that one, so that a filter for an XID or a handle finds both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::trace_reader {

// Offsets count from the event's header. A struct of an older format has its defaults.
void decode_event(const Event& event, decode::Sink& sink);

// What a person reads without asking for all events: what an endpoint and its connections are, and
// what went wrong. The others come with every Call.
[[nodiscard]] bool is_notable(const Event& event);

// "message, operation": of a set of types (trace::type_bit()) those that are known.
[[nodiscard]] std::string type_names(std::uint64_t types);

// The XID of the Call that it is about, if there is one.
[[nodiscard]] std::optional<std::uint32_t> xid_of(const Event& event);

}  // namespace rpcrdma::trace_reader
