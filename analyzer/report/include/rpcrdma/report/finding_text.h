// Findings among messages, as text and as JSON (docs/json.md).
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

// A line each, to stand below the message.
[[nodiscard]] std::string finding_lines(const std::vector<MessageFinding>& findings,
                                        const TextStyle& style);
// `object`: one JSON object and a newline; the findings become its last key.
[[nodiscard]] std::string json_with_findings(std::string object,
                                             const std::vector<MessageFinding>& findings);

// A finding that stands on its own: who is at fault, where, what.
[[nodiscard]] std::string finding_line(const rules::Occurrence& found, const Context& context,
                                       const TextStyle& style);
[[nodiscard]] std::string finding_json(const rules::Occurrence& found, const Context& context);

}  // namespace rpcrdma::report
