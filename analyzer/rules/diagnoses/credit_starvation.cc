#include "credit_starvation.h"

#include "durations.h"

#include <algorithm>

namespace rpcrdma::rules {

namespace {

// A Call that follows its credit within this time was waiting for it: the requester needs some time
// to receive the Reply and to send.
constexpr std::int64_t kAtOnce = 100'000;  // nanoseconds
// A requester that leaves a credit unused for less than this part of the latency could not do much
// more with it: it is slow rather than idle.
constexpr std::int64_t kShareOfLatency = 5;
constexpr std::uint64_t kEnoughWaited = 8;
constexpr std::int64_t kEnoughPercent = 10;

// If the capture point is far from the requester, the Reply that frees a credit still has to arrive
// there, and the next Call has to come back. The time until the requester's adapter acknowledges a
// Reply shows how long that takes; it varies, so twice that time is allowed.
std::int64_t at_once(const model::Message& call, std::int64_t latency) {
  const std::int64_t way = std::max<std::int64_t>(call.acknowledges_after_ns, 0);
  return std::max(kAtOnce + 2 * way, latency / kShareOfLatency);
}

}  // namespace

void CreditStarvation::note(const model::Message& m) {
  if (m.kind == model::Kind::kCall) {
    if (calls_++ == 0) first_ns_ = m.time_ns;
    if (credit_back_ns_ >= 0 && m.time_ns - credit_back_ns_ <= at_once(m, latency_ns_)) {
      if (waited_++ == 0) first_waited_ = m.frame;
      last_waited_ = m.frame;
    }
    credit_back_ns_ = -1;
    const bool full = m.credits.granted != 0 && m.credits.in_use >= m.credits.granted;
    if (full && full_since_ < 0) full_since_ = m.time_ns;
  } else if (m.kind == model::Kind::kReply || m.kind == model::Kind::kError) {
    granted_ = m.credits.granted;
    requested_ = m.credits.requested;
    requested_known_ = m.credits.requested_known;
    if (full_since_ >= 0 && m.credits.in_use < m.credits.granted) {
      add_time(full_total_, m.time_ns - full_since_);
      full_longest_ = std::max(full_longest_, m.time_ns - full_since_);
      full_since_ = -1;
      credit_back_ns_ = m.time_ns;
      latency_ns_ = m.latency_ns;
    }
  }
  last_ns_ = m.time_ns;
}

CreditSums CreditStarvation::sums(std::int64_t now_ns) const {
  CreditSums sums{calls_, waited_, full_total_};
  if (full_since_ >= 0) add_time(sums.full_ns, std::max<std::int64_t>(now_ns - full_since_, 0));
  return sums;
}

bool CreditStarvation::is_starved(const CreditSums& lately, std::int64_t ns) {
  return lately.waited >= kEnoughWaited && percent(lately.full_ns, ns) >= kEnoughPercent;
}

bool CreditStarvation::report(Findings& findings, const roce::Connection& connection, int caller,
                              const Reported& reported) const {
  const CreditSums all{calls_, waited_, full_total_};
  const std::int64_t ns = last_ns_ - first_ns_;
  if (!is_starved(all, ns)) return false;
  Evidence e;
  e.connection = &connection;
  e.side = guilty(caller);
  e.frames = {first_waited_, last_waited_};
  if (conclude(e, reported)) report(findings, caller, all, ns, e, full_longest_);
  return true;
}

void CreditStarvation::report(Findings& findings, const roce::Connection& connection, int caller,
                              const CreditSums& lately, std::int64_t ns, Evidence e) const {
  e.connection = &connection;
  e.frames = {last_waited_, 0};
  report(findings, caller, lately, ns, e, 0);
}

// Returns the side that grants, unless the requester did not ask for more. -1: not known.
int CreditStarvation::guilty(int caller) const {
  if (!requested_known_) return -1;
  return requested_ > granted_ ? 1 - caller : caller;
}

void CreditStarvation::report(Findings& findings, int caller, const CreditSums& sums,
                              std::int64_t ns, Evidence e, std::int64_t longest) const {
  const bool asked_for_more = e.side != caller;
  if (!asked_for_more || !requested_known_) e.at_most = Level::kNote;
  const auto text = [&] {
    return fmt::format(
        "the requester used all {} credits for a total of {} ({} % of the time){}; it sent {} "
        "of {} Calls as soon as a credit returned{}",
        granted_, duration(sums.full_ns), percent(sums.full_ns, ns),
        longest == 0 ? "" : fmt::format(", without a break for up to {}", duration(longest)),
        sums.waited, sums.calls, asked_for_more ? "" : "; it did not request more credits");
  };
  if (asked_for_more) return findings.add(RuleId::kCreditStarved, e, text);
  findings.add(RuleId::kCreditStarved, e, text,
               "Have the requester request more credits, if it has more Calls to send at once.");
}

}  // namespace rpcrdma::rules
