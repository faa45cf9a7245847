// Messages for people: one line like tcpdump's, or the tree of all fields like tshark -V.
#pragma once

#include <string>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

struct TextStyle {
  bool colour = false;
};

[[nodiscard]] std::string message_line(const model::Message& m, const Context& context,
                                       const TextStyle& style);

// What that line says of the message itself, without when it was sent and who sent it to whom; and
// of that what the transport header says, without the RPC message.
[[nodiscard]] std::string message_summary(const model::Message& m, const Context& context,
                                          const TextStyle& style);
[[nodiscard]] std::string transport_summary(const model::Message& m, const Context& context,
                                            const TextStyle& style);

// The fields of the header and the RPC message, and what the model knows. Needs a model that keeps
// bytes.
[[nodiscard]] std::string message_tree(const model::Message& m, const model::Call* call,
                                       const Context& context);

}  // namespace rpcrdma::report
