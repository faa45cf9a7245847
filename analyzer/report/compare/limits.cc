// The limits of `compare`: how much slower AFTER may be, and which findings it may not have.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/core.h>

#include <rpcrdma/report/compare.h>

namespace rpcrdma::report {

namespace {

struct LimitedQuantile {
  const char* name;
  double q;
};
constexpr std::array<LimitedQuantile, 8> kLimitedQuantiles{{{"p50", 0.5},
                                                            {"p90", 0.9},
                                                            {"p95", 0.95},
                                                            {"p99", 0.99},
                                                            {"p99.9", 0.999},
                                                            {"p999", 0.999},
                                                            {"p99.99", 0.9999},
                                                            {"p9999", 0.9999}}};
constexpr std::array kLimitedShares{"failed", "unanswered", "retransmitted"};
constexpr std::array kLimitedEvents{"slower", "new-error", "new-warning", "new-note"};

}  // namespace

std::optional<double> parse_share(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  constexpr double kMost = 1e6;
  if (error != std::errc() || at != end || !(percent <= kMost)) return std::nullopt;
  return percent / 100;
}

tl::expected<void, std::string> CompareLimits::add_above(std::string_view text) {
  const std::size_t sign = text.rfind('=');
  const std::string_view left = text.substr(0, sign);
  const std::size_t colon = left.rfind(':');
  Above limit;
  if (colon != std::string_view::npos) limit.procedure = left.substr(0, colon);
  limit.text = colon == std::string_view::npos ? left : left.substr(colon + 1);
  const auto quantile =
      std::find_if(kLimitedQuantiles.begin(), kLimitedQuantiles.end(),
                   [&](const LimitedQuantile& l) { return limit.text == l.name; });
  const bool share =
      std::find(kLimitedShares.begin(), kLimitedShares.end(), limit.text) != kLimitedShares.end();
  if (quantile != kLimitedQuantiles.end()) limit.q = quantile->q;
  if (share) limit.sum = limit.text;
  if (sign == std::string_view::npos || (limit.q == 0 && !share) ||
      (colon != std::string_view::npos && (share || limit.procedure.empty()))) {
    return tl::unexpected(fmt::format(
        "\"{}\" is not a limit; use for example p99=20% or READ:p50=10% (p50, p90, p95, "
        "p99, p99.9, p99.99), or retransmitted=0.1% (failed, unanswered, "
        "retransmitted)",
        text));
  }
  const auto most = parse_share(text.substr(sign + 1));
  if (!most) {
    return tl::unexpected(fmt::format("\"{}\" is not a share such as 20%", text.substr(sign + 1)));
  }
  limit.most = *most;
  above_.push_back(std::move(limit));
  return {};
}

std::vector<std::string> CompareLimits::events() {
  return {kLimitedEvents.begin(), kLimitedEvents.end()};
}

tl::expected<void, std::string> CompareLimits::add_on(std::string_view text) {
  const auto at = std::find(kLimitedEvents.begin(), kLimitedEvents.end(), text);
  if (at == kLimitedEvents.end()) {
    return tl::unexpected(
        fmt::format("\"{}\" is not slower, new-error, new-warning or new-note", text));
  }
  if (at == kLimitedEvents.begin()) {
    slower_ = true;
    return {};
  }
  const rules::Severity severity = text == "new-error"     ? rules::Severity::kError
                                   : text == "new-warning" ? rules::Severity::kWarning
                                                           : rules::Severity::kNote;
  fresh_ = fresh_ ? std::max(*fresh_, severity) : severity;
  return {};
}

}  // namespace rpcrdma::report
