#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/report/timing.h>
#include <rpcrdma/rules/finding.h>

namespace rpcrdma::report {

std::int64_t Silence::length_ns() const {
  if (until_ns <= since_ns) return 0;
  const std::uint64_t ns =
      static_cast<std::uint64_t>(until_ns) - static_cast<std::uint64_t>(since_ns);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(ns, kMost));
}

std::string limit_text(const SlowLimit& limit) {
  return fmt::format("{} above {}", limit.procedure.empty() ? "Calls" : limit.procedure,
                     base::format_duration(limit.limit_ns));
}

void LimitedCalls::add(const LimitedCalls& later) {
  calls += later.calls;
  slow += later.slow;
  unanswered += later.unanswered;
  if (later.worst_ns > worst_ns) {
    worst_ns = later.worst_ns;
    worst_frame = later.worst_frame;
  }
  frames.insert(frames.end(), later.frames.begin(), later.frames.end());
  std::sort(frames.begin(), frames.end());
  if (frames.size() > rules::kMaxFrames) frames.resize(rules::kMaxFrames);
}

void Timing::settle() {
  std::stable_sort(silences.begin(), silences.end(), [](const Silence& a, const Silence& b) {
    return std::tuple(-a.length_ns(), a.since_ns, a.connection, a.reverse) <
           std::tuple(-b.length_ns(), b.since_ns, b.connection, b.reverse);
  });
  if (silences.size() > kMaxSilences) silences.resize(kMaxSilences);
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  if (limits.size() > kMaxLimits) limits.resize(kMaxLimits);
  std::map<std::pair<std::uint32_t, SlowLimit>, LimitedCalls> joined;
  for (LimitedCalls& entry : limited) {
    const auto [at, added] = joined.try_emplace({entry.connection, entry.limit});
    if (added) {
      at->second = std::move(entry);
    } else {
      at->second.add(entry);
    }
  }
  limited.clear();
  for (auto& [key, entry] : joined) {
    if (limited.size() < kMaxLimitedCalls) {
      limited.push_back(std::move(entry));
    } else {
      omitted += entry.calls;
    }
  }
}

}  // namespace rpcrdma::report
