// Formats trace events of endpoints: as one line, as the tree of all fields, or as JSON.
#pragma once

#include <string>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::report {

// Returns a line such as
// "   12 08:16:26.140227 10.0.0.1.17 - 10.0.0.2.18: credit wait | XID 0xe222da5e, begins".
// The endpoint that emitted the event comes first, then its peer. The line ends with a newline, and
// so do the tree and the JSON.
[[nodiscard]] std::string event_line(const trace_reader::Event& event, const TextStyle& style);
// Returns the part of that line that describes the event, without time, connection and newline.
[[nodiscard]] std::string event_summary(const trace_reader::Event& event, const TextStyle& style);
[[nodiscard]] std::string event_tree(const trace_reader::Event& event, const Context& context);
[[nodiscard]] std::string event_json(const trace_reader::Event& event, const Context& context);
// Writes the object of event_json().
void write_event(JsonWriter& json, const trace_reader::Event& event, const Context& context);

// Writes all fields that a filter can use. `start_ns`: the time at which the capture starts.
void event_fields(const trace_reader::Event& event, const Context& context, std::int64_t start_ns,
                  decode::Sink& sink);

}  // namespace rpcrdma::report
