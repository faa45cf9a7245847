// A finding: what is wrong, who did it, how that is known, what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rpcrdma::rules {

enum class Severity : std::uint8_t { kError, kWarning, kNote };
[[nodiscard]] const char* severity_name(Severity severity);  // "error", "warning", "note"

// For how long something was wrong, nanoseconds since 1970.
struct Span {
  std::int64_t since_ns = 0;  // 0: it is no matter of time
  std::int64_t until_ns = 0;  // 0: it lasted when the capture ended, or lasts
};

struct Finding {
  std::string rule;  // an ID such as "HDR-06"
  Severity severity = Severity::kNote;
  std::string peer;                   // address of the side at fault; empty: neither
  std::string role;                   // of that side: "client", "server"; empty when not known
  std::uint32_t connection = 0;       // its ID in the report; 0: none in particular
  std::vector<std::uint64_t> frames;  // the evidence: at most kMaxFrames, the first ones
  std::uint64_t count = 1;            // how often
  std::vector<Span> spans;            // of what lasts: at most kMaxSpans, the first ones
  std::uint64_t of = 0;               // of how many that could have shown it; 0: not known
  std::uint32_t topic = 0;            // tells findings of one rule apart that are not one
  std::string text;                   // of the first time
  std::string advice;
};

// "3 of 5 " and the clause: the text of a finding whose `of` is known.
[[nodiscard]] std::string with_share(std::uint64_t count, std::uint64_t of,
                                     std::string_view clause);
// That clause again; all of a text that does not begin so.
[[nodiscard]] std::string_view without_share(std::string_view text);

// What was not said because the capture lacks what it would rest on.
struct Inconclusive {
  std::string rule;
  std::uint32_t connection = 0;
  std::uint64_t count = 0;
  std::string reason;  // one clause, without a full stop
};

inline constexpr std::size_t kMaxFrames = 16;
inline constexpr std::size_t kMaxSpans = 16;
// What goes wrong for a while is judged by what happened in as long as this, nanoseconds.
inline constexpr std::int64_t kWindowNs = 10'000'000'000;

// "since 22:49:13", "22:49:13 to 22:51:02", "22:49:13 to 22:51:02 and 2 more times", in UTC; empty:
// there is none.
[[nodiscard]] std::string spans_text(const std::vector<Span>& spans);
[[nodiscard]] std::string span_text(const Span& span);

}  // namespace rpcrdma::rules
