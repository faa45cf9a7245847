// Endpoints' events for people and programs: one line, the tree of all fields, or JSON.
#pragma once

#include <string>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/trace_reader/event.h>

namespace rpcrdma::report {

// "   12 08:16:26.140227 10.0.0.1.17 - 10.0.0.2.18: credit wait | XID 0xe222da5e, begins": what
// tells stands first, then its peer. Ends with a newline, as the others do.
[[nodiscard]] std::string event_line(const trace_reader::Event& event, const TextStyle& style);
// What that line says of the event itself, without when it was and on which connection.
[[nodiscard]] std::string event_summary(const trace_reader::Event& event, const TextStyle& style);
[[nodiscard]] std::string event_tree(const trace_reader::Event& event, const Context& context);
[[nodiscard]] std::string event_json(const trace_reader::Event& event, const Context& context);

// All fields that a filter may ask for. `start_ns`: of the capture.
void event_fields(const trace_reader::Event& event, const Context& context, std::int64_t start_ns,
                  decode::Sink& sink);

}  // namespace rpcrdma::report
