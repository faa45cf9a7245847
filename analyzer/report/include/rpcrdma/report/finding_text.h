// Formats findings that are printed among messages, as text and as JSON (docs/json.md).
#pragma once

#include <string>
#include <string_view>
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
// Sets `out` to `object`, which is one JSON object and a newline, with the findings as its last
// key.
void put_json_with_findings(std::string& out, std::string_view object,
                            const std::vector<MessageFinding>& findings);

// Formats a finding without a message: the peer at fault, the place, the text.
[[nodiscard]] std::string finding_line(const rules::Occurrence& found, const Context& context,
                                       const TextStyle& style);
[[nodiscard]] std::string finding_json(const rules::Occurrence& found, const Context& context);

}  // namespace rpcrdma::report
