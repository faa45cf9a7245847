// A finding of a report: what is wrong, who is at fault, the evidence, and the advice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::rules {

enum class Severity : std::uint8_t { kError, kWarning, kNote };
[[nodiscard]] const char* severity_name(Severity severity);  // "error", "warning", "note"

// The time during which a fault lasted, nanoseconds since 1970.
struct Span {
  std::int64_t since_ns = 0;  // 0: the finding has no duration
  std::int64_t until_ns = 0;  // 0: the fault still lasts, or lasted when the capture ended
};

struct Finding {
  std::string rule;  // an ID such as "HDR-06"
  Severity severity = Severity::kNote;
  std::string peer;                   // address of the side at fault; empty: neither
  std::string role;                   // of that side: "client", "server"; empty when not known
  std::uint32_t connection = 0;       // its ID in the report; 0: none in particular
  std::vector<std::uint64_t> frames;  // the evidence: at most kMaxFrames, the first ones
  std::uint64_t count = 1;            // occurrences
  std::vector<Span> spans;            // of lasting faults: at most kMaxSpans, the first ones
  std::uint64_t of = 0;               // occasions on which it could have occurred; 0: not known
  std::uint32_t topic = 0;            // distinguishes findings of one rule that are not joined
  std::string text;                   // of the first occurrence
  std::string advice;
};

// Returns "3 of 5 " and the clause: the text of a finding whose `of` is known.
[[nodiscard]] std::string with_share(std::uint64_t count, std::uint64_t of,
                                     std::string_view clause);
// Returns the clause of such a text, or all of a text without the numbers.
[[nodiscard]] std::string_view without_share(std::string_view text);

// Violations that are not reported because missing data could explain them.
struct Inconclusive {
  std::string rule;
  std::uint32_t connection = 0;
  std::uint64_t count = 0;
  std::string reason;  // one clause, without a full stop
};

inline constexpr std::size_t kMaxFrames = 16;
inline constexpr std::size_t kMaxSpans = 16;
// Lasting faults are judged by the traffic of the last kWindowNs nanoseconds.
inline constexpr std::int64_t kWindowNs = 10'000'000'000;

// "since 22:49:13", "22:49:13 to 22:51:02", "22:49:13 to 22:51:02 and 2 more times", in UTC; empty
// if there are no spans.
[[nodiscard]] std::string spans_text(const std::vector<Span>& spans);
[[nodiscard]] std::string span_text(const Span& span);

}  // namespace rpcrdma::rules
