// Parses limits such as "p99=200us" and compares them with a tally.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load/threshold.h>

namespace rpcrdma::load {

namespace {

struct Measure {
  const char* name;
  bool duration;
  // Returns nothing for an infinite latency.
  std::optional<std::uint64_t> (*of)(const Tally& tally, const Unanswered& unanswered);
};

std::uint64_t without_latency(const Tally& t, const Unanswered& u) {
  return t.errors() + t.mismatches() + u.not_begun + u.abandoned;
}

// Quantile of all Calls; those without a latency count as the longest.
template <int kPerTenThousand>
std::optional<std::uint64_t> quantile(const Tally& t, const Unanswered& u) {
  constexpr double kPart = kPerTenThousand / 10000.0;
  const std::uint64_t without = without_latency(t, u);
  if (without == 0) return static_cast<std::uint64_t>(t.latency().quantile(kPart));
  const auto known = static_cast<double>(t.right());
  const double below = kPart * (known + static_cast<double>(without));
  if (below > known) return std::nullopt;
  return static_cast<std::uint64_t>(t.latency().quantile(below / known));
}

std::optional<std::uint64_t> mean(const Tally& t, const Unanswered& u) {
  if (without_latency(t, u) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(t.latency().mean());
}

std::optional<std::uint64_t> longest(const Tally& t, const Unanswered& u) {
  if (without_latency(t, u) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(t.latency().max());
}

using Number = std::optional<std::uint64_t>;

constexpr std::array<Measure, 13> kMeasures{{
    {"p50", true, quantile<5000>},
    {"p90", true, quantile<9000>},
    {"p95", true, quantile<9500>},
    {"p99", true, quantile<9900>},
    {"p999", true, quantile<9990>},
    {"p99.9", true, quantile<9990>},  // as the table of the report writes it
    {"p9999", true, quantile<9999>},
    {"p99.99", true, quantile<9999>},
    {"mean", true, mean},
    {"max", true, longest},
    {"errors", false, [](const Tally& t, const Unanswered&) -> Number { return t.errors(); }},
    {"mismatches", false,
     [](const Tally& t, const Unanswered&) -> Number { return t.mismatches(); }},
    {"not_begun", false, [](const Tally&, const Unanswered& u) -> Number { return u.not_begun; }},
}};

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, n);
  return error == std::errc() && rest == end ? std::optional(n) : std::nullopt;
}

// A number alone would be seconds, which is never meant.
std::optional<std::uint64_t> parse_latency(std::string_view text) {
  if (text.empty() || (text.back() >= '0' && text.back() <= '9')) return std::nullopt;
  const auto ns = base::parse_duration(text);
  return ns ? std::optional(static_cast<std::uint64_t>(*ns)) : std::nullopt;
}

// "16 failed, 3073 never started"
std::string unanswered_text(const Tally& t, const Unanswered& u) {
  std::string text;
  const auto add = [&](std::uint64_t n, const char* what) {
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, what);
  };
  add(t.errors() + t.mismatches(), "failed");
  add(u.abandoned, "did not end");
  add(u.not_begun, "never started");
  return text;
}

std::string value_text(const Measure& measure, std::uint64_t value) {
  return measure.duration ? base::format_duration(static_cast<std::int64_t>(value))
                          : fmt::format("{}", value);
}

}  // namespace

fabric::Expected<void> Thresholds::add(std::string_view text) {
  const std::size_t sign = text.find('=');
  const std::string_view name = text.substr(0, sign);
  for (std::size_t i = 0; sign != std::string_view::npos && i < kMeasures.size(); ++i) {
    if (kMeasures[i].name != name) continue;
    const std::string_view value = text.substr(sign + 1);
    const auto most = kMeasures[i].duration ? parse_latency(value) : parse_count(value);
    if (!most) {
      return fabric::fail(
          fabric::Errc::kBadArgument,
          fmt::format("\"{}\" is not {}", value,
                      kMeasures[i].duration ? "a duration with its unit, such as 200us or 5ms"
                                            : "a whole number"));
    }
    limits_.push_back({i, *most});
    return {};
  }
  return fabric::fail(
      fabric::Errc::kBadArgument,
      fmt::format("\"{}\" is not a limit; use for example p99=200us (p50, p90, p95, p99, p99.9, "
                  "p99.99, mean, max) or errors=0 (errors, mismatches, not_begun)",
                  text));
}

void Thresholds::allow_no_errors() {
  for (std::size_t i = 0; i < kMeasures.size(); ++i) {
    if (std::string_view(kMeasures[i].name) != "errors") continue;
    const auto is_given = [i](const Limit& limit) { return limit.measure == i; };
    if (std::none_of(limits_.begin(), limits_.end(), is_given)) limits_.push_back({i, 0});
  }
}

std::vector<std::string> Thresholds::passed(const Tally& tally,
                                            const Unanswered& unanswered) const {
  std::vector<std::string> all;
  for (const Limit& limit : limits_) {
    const Measure& m = kMeasures[limit.measure];
    if (m.duration && tally.latency().count() == 0) {
      all.push_back(fmt::format("{} is unknown: no Call was answered", m.name));
      continue;
    }
    const auto value = m.of(tally, unanswered);
    if (!value) {
      all.push_back(fmt::format("{} is above {}: of {} Calls {}; these count as infinitely long",
                                m.name, value_text(m, limit.most),
                                tally.calls() + unanswered.not_begun + unanswered.abandoned,
                                unanswered_text(tally, unanswered)));
    } else if (*value > limit.most) {
      all.push_back(fmt::format("{} {} {}, above {}", m.name, m.duration ? "is" : "are",
                                value_text(m, *value), value_text(m, limit.most)));
    }
  }
  return all;
}

}  // namespace rpcrdma::load
