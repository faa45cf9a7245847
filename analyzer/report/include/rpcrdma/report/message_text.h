// Formats messages as one line, like tcpdump, or as the tree of all fields, like tshark -V.
#pragma once

#include <string>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

struct TextStyle {
  bool colour = false;
};

// `call`: the Call that the message is or answers, from which the file comes; null: unknown.
[[nodiscard]] std::string message_line(const model::Message& m, const model::Call* call,
                                       const Context& context, const TextStyle& style);
void put_message_line(base::TextBuffer& out, const model::Message& m, const model::Call* call,
                      const Context& context, const TextStyle& style);

// Returns the part of that line that describes the message, without time and addresses.
// transport_summary() returns the first part of it, without the RPC message.
[[nodiscard]] std::string message_summary(const model::Message& m, const model::Call* call,
                                          const Context& context, const TextStyle& style);
[[nodiscard]] std::string transport_summary(const model::Message& m, const Context& context,
                                            const TextStyle& style);

// Returns the fields of the header and of the RPC message, and those from the model. The model must
// keep bytes.
[[nodiscard]] std::string message_tree(const model::Message& m, const model::Call* call,
                                       const Context& context);

}  // namespace rpcrdma::report
