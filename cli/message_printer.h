// Prints messages as `decode` and `capture` do: one line each, the tree of fields, or JSON.
#pragma once

#include "field_output.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/session/pipeline.h>
#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::cli {

struct PrintOptions {
  bool verbose = false;
  bool events = false;  // print all events
  bool hex = false;
  bool json = false;
  const FieldOutput* fields = nullptr;   // print these fields only
  std::uint64_t most = 0;                // messages to print; 0: all
  std::optional<std::int64_t> since_ns;  // print only from this time on
  std::string xid;
  std::vector<std::uint32_t> connections;
  std::vector<std::string> types;
  std::string from;
  std::string to;
  std::string filter;
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;  // version 2 draft; nothing: detected from messages
  bool no_icrc = false;                  // do not verify ICRCs; add_icrc() adds the option
  // Print findings that belong to no message still to be written on lines of their own.
  bool own_findings = true;
  // Hold messages back until late findings are known, if the filter uses findings.
  bool wait_for_findings = false;
};

// Returns the values that --type accepts, in upper or lower case.
[[nodiscard]] std::vector<std::string> message_types();

// Adds the options above, and the description of a line as the command's footer.
void add_print_options(command_line::Command& command, PrintOptions& options);

// A session that prints its messages to standard output, each with its findings, and the trace
// events of endpoints.
class MessagePrinter {
 public:
  virtual ~MessagePrinter() = default;
  // Returns the pipeline that reads the capture.
  [[nodiscard]] virtual session::Pipeline& pipeline() = 0;
  // The number of messages that were decoded, and of messages and events that were printed.
  [[nodiscard]] virtual std::uint64_t decoded() const = 0;
  [[nodiscard]] virtual std::uint64_t printed() const = 0;
  // Whether PrintOptions::most messages are printed.
  [[nodiscard]] virtual bool done() const = 0;
  // Call once, after Pipeline::finish(): Calls that still wait for their Replies are written as
  // they are. `dropped` frames were lost while capturing.
  virtual void finish(std::uint64_t dropped) = 0;
};

// `options` must outlive the printer. If arguments are invalid, prints a line for each on stderr,
// starting with the name of the command, and returns null.
[[nodiscard]] std::unique_ptr<MessagePrinter> make_printer(const PrintOptions& options,
                                                           const char* command);

}  // namespace rpcrdma::cli
