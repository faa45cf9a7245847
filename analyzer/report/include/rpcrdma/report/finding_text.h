// Formats findings that are printed among messages, as text and as JSON (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/message_text.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::report {

// A finding on a message.
struct MessageFinding {
  std::string rule;
  rules::Severity severity = rules::Severity::kNote;
  std::string text;
};

// Returns one line for each finding, to be printed below the message.
[[nodiscard]] std::string finding_lines(const std::vector<MessageFinding>& findings,
                                        const TextStyle& style);
// Appends the findings as the last key of `object`, which is one JSON object and a newline.
[[nodiscard]] std::string json_with_findings(std::string object,
                                             const std::vector<MessageFinding>& findings);

// Formats a finding without a message: the peer at fault, the place, the text.
[[nodiscard]] std::string finding_line(const rules::Occurrence& found, const Context& context,
                                       const TextStyle& style);
[[nodiscard]] std::string finding_json(const rules::Occurrence& found, const Context& context);

}  // namespace rpcrdma::report
