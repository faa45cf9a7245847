// Prints messages as `decode` and `capture` do: one line each, the tree of fields, or JSON.
#pragma once

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
  bool events = false;  // all of them
  bool hex = false;
  bool json = false;
  std::string xid;
  std::vector<std::uint32_t> connections;
  std::vector<std::string> types;
  std::string from;
  std::string to;
  std::string filter;
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;  // of version 2; nothing: told from messages
  // Findings that belong to no message still to be written have lines of their own.
  bool own_findings = true;
  // A filter that asks for findings may hold messages back until those that are late are there.
  bool wait_for_findings = false;
};

// What --type takes, in any case of letters.
[[nodiscard]] std::vector<std::string> message_types();

// The options above, and the description of a line as the command's footer.
void add_print_options(command_line::Command& command, PrintOptions& options);

// A session that writes its messages to standard output, each with the findings on it, and the
// trace events of endpoints.
class MessagePrinter {
 public:
  virtual ~MessagePrinter() = default;
  // Reads the capture.
  [[nodiscard]] virtual session::Pipeline& pipeline() = 0;
  // Call once, after Pipeline::finish(): Calls that still wait for their Replies are written as
  // they are. `dropped` frames were lost while capturing.
  virtual void finish(std::uint64_t dropped) = 0;
};

// `options` must outlive the printer. On arguments that make no sense a line each on stderr, which
// begin with the name of the command, and null.
[[nodiscard]] std::unique_ptr<MessagePrinter> make_printer(const PrintOptions& options,
                                                           const char* command);

}  // namespace rpcrdma::cli
