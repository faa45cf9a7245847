// A finding: what is wrong, who did it, how that is known, what to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::report {

enum class Severity : std::uint8_t { kError, kWarning, kNote };
[[nodiscard]] const char* severity_name(Severity severity);  // "error", "warning", "note"

struct Finding {
  std::string rule;  // an ID such as "HDR-06"; "CAPTURE" and "ICRC" for the capture itself
  Severity severity = Severity::kNote;
  std::string peer;                   // the side at fault: "client", "server", an address, or empty
  std::uint32_t connection = 0;       // its ID in the report; 0: none in particular
  std::vector<std::uint64_t> frames;  // the evidence: at most kMaxFrames, the first ones
  std::uint64_t count = 1;            // how often
  std::string text;
  std::string advice;
};

inline constexpr std::size_t kMaxFrames = 16;

}  // namespace rpcrdma::report
