// Names and forms of values that a comparison's text, JSON and page share.
#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/report/compare.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

const char* judgement_name(Judgement j) {
  switch (j) {
    case Judgement::kSame:
      return "same";
    case Judgement::kSlower:
      return "slower";
    case Judgement::kFaster:
      return "faster";
    case Judgement::kMixed:
      return "mixed";
    case Judgement::kTooFew:
      return "too few";
    case Judgement::kOnlyBefore:
      return "only before";
    case Judgement::kOnlyAfter:
      break;
  }
  return "only after";
}

const char* finding_change_name(FindingChangeKind kind) {
  switch (kind) {
    case FindingChangeKind::kNew:
      return "new";
    case FindingChangeKind::kMore:
      return "more";
    case FindingChangeKind::kSame:
      return "same";
    case FindingChangeKind::kFewer:
      return "fewer";
    case FindingChangeKind::kGone:
      break;
  }
  return "gone";
}

const char* outcome_name(Outcome o) {
  switch (o) {
    case Outcome::kSame:
      return "same";
    case Outcome::kWorse:
      return "worse";
    case Outcome::kBetter:
      return "better";
    case Outcome::kMixed:
      return "mixed";
    case Outcome::kUnclear:
      break;
  }
  return "unclear";
}

std::string unit_text(SumUnit unit, const std::optional<double>& value) {
  if (!value) return "-";
  const double v = *value;
  switch (unit) {
    case SumUnit::kCount:
      return fmt::format("{:.0f}", v);
    case SumUnit::kSeconds:
      return fmt::format("{:.3f} s", v);
    case SumUnit::kPerSecond:
      return v < 99.95 ? fmt::format("{:.1f}", v) : fmt::format("{:.0f}", v);
    case SumUnit::kBytes:
      return format_bytes(static_cast<std::uint64_t>(std::min(std::round(v), 9e18)));
    case SumUnit::kBytesPerSecond:
      return fmt::format("{}/s", format_bytes(static_cast<std::uint64_t>(std::min(v, 9e18))));
    case SumUnit::kShare:
      return fmt::format("{:.3g} %", 100 * v);
    case SumUnit::kRatio:
      break;
  }
  return fmt::format("{:.3g}", v);
}

std::string percent_text(double ratio) {
  const double percent = 100 * (ratio - 1);
  if (std::abs(percent) < 0.05) return "0 %";
  if (std::abs(percent) < 9.95) return fmt::format("{:+.1f} %", percent);
  if (percent > 1e6) return fmt::format("x {:.3g}", ratio);
  return fmt::format("{:+.0f} %", percent);
}

std::string range_text(const Interval& ratios) {
  return fmt::format("{} to {}", percent_text(ratios.low), percent_text(ratios.high));
}

std::string probability_text(double p) {
  if (p < 0.001) return "p < 0.001";
  return fmt::format("p = {:.2g}", p);
}

std::string quantile_name(double q) {
  return fmt::format("p{:.6g}", 100 * q);
}

std::string result_text(const ProcedureChange& p) {
  switch (p.judgement) {
    case Judgement::kOnlyBefore:
      return "no Calls after";
    case Judgement::kOnlyAfter:
      return "no Calls before";
    case Judgement::kTooFew:
      return "too few Calls to judge";
    case Judgement::kMixed:
      return fmt::format("slower and faster, {}", probability_text(p.p));
    case Judgement::kSlower:
    case Judgement::kFaster:
      return fmt::format("{}, {}", judgement_name(p.judgement), probability_text(p.p));
    case Judgement::kSame:
      break;
  }
  return p.p < kSignificance ? fmt::format("differs by less, {}", probability_text(p.p))
                             : fmt::format("no difference, {}", probability_text(p.p));
}

std::string result_text(const SumChange& s) {
  if (s.p) {
    if (s.judgement == Judgement::kSame) {
      return *s.value[0] == *s.value[1] ? ""
                                        : fmt::format("no difference, {}", probability_text(*s.p));
    }
    return fmt::format("{}, {}", s.judgement == Judgement::kSlower ? "more" : "fewer",
                       probability_text(*s.p));
  }
  if (!s.value[0] || !s.value[1] || *s.value[0] == *s.value[1]) return {};
  if (*s.value[0] > 0 && *s.value[1] > 0) return percent_text(*s.value[1] / *s.value[0]);
  return {};
}

}  // namespace rpcrdma::report
