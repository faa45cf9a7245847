// The subjects of a fleet on its bus. The permissions of the bus name subjects, so a subject names
// the host, and a message about another host than its subject's is forged.
//
//   rpcrdma.state.HOST     summaries, in the stream RPCRDMA_STATE
//   rpcrdma.findings.HOST  findings, in the stream RPCRDMA_FINDINGS
//   rpcrdma.control.HOST   requests to the agent
//   rpcrdma.record.HOST.ID the recording that request ID asked for
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rpcrdma::fleet {

inline constexpr const char* kStateStream = "RPCRDMA_STATE";
inline constexpr const char* kFindingsStream = "RPCRDMA_FINDINGS";
inline constexpr const char* kAllStates = "rpcrdma.state.*";
inline constexpr const char* kAllFindings = "rpcrdma.findings.*";

// Returns the token for a host: each byte outside [A-Za-z0-9_-] becomes %XX.
[[nodiscard]] std::string host_token(std::string_view host);

[[nodiscard]] std::string state_subject(std::string_view host);
[[nodiscard]] std::string findings_subject(std::string_view host);
[[nodiscard]] std::string control_subject(std::string_view host);
[[nodiscard]] std::string record_subject(std::string_view host, std::string_view id);

// Returns the host that a subject of the four kinds names; nothing if it names none.
[[nodiscard]] std::optional<std::string> host_of_subject(std::string_view subject);

}  // namespace rpcrdma::fleet
