#include <ctime>

#include <fmt/core.h>

#include <rpcrdma/rules/finding.h>

namespace rpcrdma::rules {

namespace {

std::string time_of_day(std::int64_t ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::time_t seconds = ns / kNsPerSecond;
  std::tm tm{};
  if (gmtime_r(&seconds, &tm) == nullptr) return "?";
  return fmt::format("{:02}:{:02}:{:02}", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

}  // namespace

std::string span_text(const Span& span) {
  if (span.since_ns == 0) return {};
  if (span.until_ns == 0) return "since " + time_of_day(span.since_ns);
  return fmt::format("{} to {}", time_of_day(span.since_ns), time_of_day(span.until_ns));
}

std::string spans_text(const std::vector<Span>& spans) {
  if (spans.empty()) return {};
  if (spans.size() == 1) return span_text(spans.front());
  // A span that still lasts matters most.
  const Span& shown = spans.back().until_ns == 0 ? spans.back() : spans.front();
  return fmt::format("{} and {} more time{}", span_text(shown), spans.size() - 1,
                     spans.size() == 2 ? "" : "s");
}

}  // namespace rpcrdma::rules
