// Counts retransmissions, RNR NAKs and NAKs of each side, and reports those that hurt.
#include "loss.h"

#include "checks/lists.h"
#include "durations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kStormPackets = 16;
constexpr std::uint64_t kStormShare = 50;          // at least a fiftieth of the side's packets
constexpr std::int64_t kShortestTimeout = 50'000;  // nanoseconds
constexpr std::uint8_t kRnrForever = 7;            // IBA volume 1 section 9.7.5.2.8

Evidence about(const roce::Connection& connection, int side, std::uint64_t first,
               std::uint64_t last) {
  Evidence e;
  e.connection = &connection;
  e.side = side;
  e.frames = {first, last == first ? 0 : last};
  return e;
}

// Returns how often `sender` retries after an RNR NAK, as its peer announced in the CM exchange.
std::optional<std::uint8_t> rnr_retries(const roce::Connection& c, int sender) {
  const roce::CmSide& peer = c.side[static_cast<std::size_t>(1 - sender)].cm;
  if (c.setup != roce::Setup::kCm || !peer.retries_known) return std::nullopt;
  return peer.rnr_retry_count;
}

// ", which is retried ..."; empty if that is not known.
std::string retries_clause(const roce::Connection& c, int sender) {
  const auto n = rnr_retries(c, sender);
  if (!n) return {};
  if (*n == kRnrForever) return ", which is retried without limit";
  if (*n == 0) return ", which is not retried: the RNR retry count is 0";
  return *n == 1 ? ", which is retried at most once"
                 : fmt::format(", which is retried at most {} times", *n);
}

}  // namespace

int who_sent(const roce::Connection& c, int sender, const ExcusedRnr& excused) {
  const bool whole = model::losses(c) == 0 && roce::both_directions_seen(c);
  return whole && excused.certain ? sender : -1;
}

namespace {

const char* const kPacketsNotCounted =
    "an endpoint does not report how many packets were sent in total";

// Returns the maximum number of packets of both sides, estimated from an endpoint's events.
std::uint64_t packets_at_most(const roce::Connection& c, std::uint64_t again) {
  std::uint64_t most = again;
  for (const roce::Side& side : c.side) most += side.counters.packets_at_most;
  return most;
}

bool operations_unseen(const roce::Connection& c) {
  return c.side[0].operations_unseen || c.side[1].operations_unseen;
}

}  // namespace

Stall Recovery::sent_again(std::uint32_t psn, std::int64_t idle_ns, bool begins,
                           const roce::PacketMeta& meta) {
  const bool new_burst =
      begins || nak_frame_ != 0 || not_ready_ || roce::psn_diff(psn, last_psn_) <= 0;
  last_psn_ = psn;
  if (new_burst) for_rnr_ = std::exchange(not_ready_, false);
  // No packet was lost: see report_rnr().
  if (for_rnr_) return new_burst ? Stall::kNoReceive : Stall::kNone;
  ++packets_;
  // A timeout lasts longer: the packet was captured twice.
  if (begins && nak_frame_ == 0 && idle_ns < kShortestTimeout) ++copies_;
  last_frame_ = meta.frame;
  if (!new_burst) return Stall::kNone;
  if (bursts_++ == 0) {
    first_psn_ = psn;
    first_frame_ = meta.frame;
    first_nak_frame_ = nak_frame_;
    first_idle_ = idle_ns;
  }
  if (psn != burst_psn_) tries_ = 0;
  if (tries_++ == 0) trying_ = 0;
  burst_psn_ = psn;
  nak_frame_ = 0;
  add_time(stalled_, idle_ns);
  longest_stall_ = std::max(longest_stall_, idle_ns);
  return Stall::kLoss;
}

void Recovery::held_up(std::int64_t ns) {
  add_time(held_up_, ns);
  add_time(trying_, ns);
}

void Recovery::reported_again(std::uint64_t count, const roce::PacketMeta& meta) {
  packets_ += count;
  if (bursts_++ == 0) first_frame_ = meta.frame;
  last_frame_ = meta.frame;
}

void Recovery::refused(const wire::Aeth& aeth, std::uint32_t psn, const roce::PacketMeta& meta) {
  if (aeth.is_rnr()) {
    if (rnr_++ == 0) {
      rnr_psn_ = psn;
      rnr_frame_ = meta.frame;
    }
    rnr_tries_ = psn == rnr_last_psn_ ? rnr_tries_ + 1 : 1;
    rnr_last_psn_ = psn;
    rnr_last_frame_ = meta.frame;
    not_ready_ = true;
    if (roce::psn_diff(psn, burst_psn_) >= 0) tries_ = 0;  // it arrived, and so did all before it
  } else if (aeth.value() == static_cast<std::uint8_t>(wire::NakCode::kPsnSequence)) {
    nak_frame_ = meta.frame;
  } else if (!fatal_) {
    fatal_ = true;
    fatal_code_ = aeth.value();
    fatal_psn_ = psn;
    fatal_frame_ = meta.frame;
  }
}

void Recovery::arrived(std::uint32_t psn) {
  if (tries_ != 0 && roce::psn_diff(psn, burst_psn_) >= 0) tries_ = 0;
  if (rnr_tries_ != 0 && roce::psn_diff(psn, rnr_last_psn_) >= 0) rnr_tries_ = 0;
}

void Recovery::went_on(std::uint32_t psn) {
  arrived(roce::psn_add(psn, wire::kPsnMask));
}

// The packets themselves are not recorded. They are a storm if they would be one even with all
// other data sent in packets of the path MTU (the smallest one if it is not known), each of them
// acknowledged.
bool Recovery::report_recorded_storm(Findings& findings, const roce::Connection& c, int sender,
                                     const Reported& reported) const {
  if (packets_ < kStormPackets) return false;
  const std::uint64_t most = packets_at_most(c, packets_);
  Evidence e = about(c, -1, first_frame_, last_frame_);
  e.topic = static_cast<std::uint32_t>(sender);
  e.needs = kLossFree;
  const bool too_few = packets_ * kStormShare < most;
  if (too_few && reported.ever) return false;
  if (too_few || operations_unseen(c)) e.unsure = kPacketsNotCounted;
  if (!conclude(e, reported)) return true;
  findings.add(RuleId::kRetxStorm, e, [&] {
    return fmt::format(
        "{} retransmitted {} packets in {}, out of at most {}; its endpoint does not report for "
        "how long it stalled before",
        c.side[static_cast<std::size_t>(sender)].address.to_string(), packets_,
        counted(bursts_, "burst"), most);
  });
  return true;
}

bool Recovery::report_storm(Findings& findings, const roce::Connection& c, int sender,
                            const Reported& reported) const {
  if (c.recorded) return report_recorded_storm(findings, c, sender, reported);
  const std::uint64_t all = c.side[static_cast<std::size_t>(sender)].counters.packets;
  if (!is_storm({all, packets_, 0, 0})) return false;
  Evidence e = about(c, -1, first_frame_, last_frame_);
  e.topic = static_cast<std::uint32_t>(sender);
  if (!conclude(e, reported)) return true;
  findings.add(RuleId::kRetxStorm, e, [&] {
    const std::string why =
        first_nak_frame_ != 0 ? fmt::format("the NAK in frame {}", first_nak_frame_)
                              : fmt::format("{} without an acknowledgment", duration(first_idle_));
    return fmt::format(
        "{} retransmitted {} of {} packets in {}; the first lost one has PSN {:#08x} and was "
        "retransmitted after {}; the side stalled for a total of {}, up to {} at a time",
        c.side[static_cast<std::size_t>(sender)].address.to_string(), packets_, all,
        counted(bursts_, "burst"), first_psn_, why, duration(stalled_), duration(longest_stall_));
  });
  return true;
}

LossSums Recovery::sums(const roce::Connection& c, int sender, const SideHistory& history) const {
  LossSums sums;
  sums.packets = c.recorded ? packets_at_most(c, packets_)
                            : c.side[static_cast<std::size_t>(sender)].counters.packets;
  sums.again = packets_;
  sums.rnr_excused = history.excused.count;
  // For the latest RNR NAKs, it may not be known yet whether a Receive was due.
  const std::uint64_t open = history.refused.frame != 0 ? history.refused.count : 0;
  sums.rnr_owed = rnr_ - std::min(rnr_, history.excused.count + open);
  return sums;
}

bool Recovery::is_storm(const LossSums& lately) const {
  return copies_ * 2 <= packets_ && lately.again >= kStormPackets &&
         lately.again * kStormShare >= lately.packets;
}

void Recovery::report_storm(Findings& findings, const roce::Connection& c, int sender,
                            const LossSums& lately, std::int64_t ns, Evidence e) const {
  e.frames = {last_frame_, 0};
  e.topic = static_cast<std::uint32_t>(sender);
  if (c.recorded) {
    e.needs = kLossFree;
    if (operations_unseen(c)) e.unsure = kPacketsNotCounted;
  }
  findings.add(RuleId::kRetxStorm, e, [&] {
    return fmt::format("{} retransmitted {} of {}{} packets within {}",
                       c.side[static_cast<std::size_t>(sender)].address.to_string(), lately.again,
                       c.recorded ? "at most " : "", lately.packets, duration(ns));
  });
}

bool Recovery::report_excused_rnr(Findings& findings, const roce::Connection& c, int sender,
                                  const SideHistory& history, const Reported& reported) const {
  const ExcusedRnr& excused = history.excused;
  if (rnr_ == 0 || excused.count == 0) return false;
  Evidence e = about(c, who_sent(c, sender, excused), excused.first_frame, excused.last_frame);
  e.topic = 1;
  if (!conclude(e, reported)) return true;
  findings.add(
      RuleId::kRnr, e,
      [&] {
        return fmt::format("{}: no Receive was posted for {}{}; the first one for PSN {:#08x}",
                           counted(excused.count, "RNR NAK"), excused.excuse->what,
                           retries_clause(c, sender), excused.first_psn);
      },
      excused.excuse->advice);
  return true;
}

void Recovery::report_excused_rnr(Findings& findings, const roce::Connection& c, int sender,
                                  const SideHistory& history, const LossSums& lately,
                                  Evidence e) const {
  const ExcusedRnr& excused = history.excused;
  e.frames = {excused.last_frame, 0};
  e.topic = 1;
  findings.add(
      RuleId::kRnr, e,
      [&] {
        return fmt::format("{}: no Receive was posted for {}{}",
                           counted(lately.rnr_excused, "RNR NAK"), excused.excuse->what,
                           retries_clause(c, sender));
      },
      excused.excuse->advice);
}

bool Recovery::report_rnr(Findings& findings, const roce::Connection& c, int sender,
                          const SideHistory& history, const Reported& reported) const {
  const ExcusedRnr& excused = history.excused;
  if (rnr_ <= excused.count) return false;
  Evidence e = about(c, 1 - sender, rnr_frame_, rnr_last_frame_);
  if (!conclude(e, reported)) return true;
  findings.add(RuleId::kRnr, e, [&] {
    return fmt::format("{}: no Receive was posted for a Send{}{}",
                       counted(rnr_ - excused.count, "RNR NAK"), retries_clause(c, sender),
                       rnr_frame_ == excused.first_frame
                           ? ""
                           : fmt::format("; the first one for PSN {:#08x}", rnr_psn_));
  });
  return true;
}

void Recovery::report_rnr(Findings& findings, const roce::Connection& c, int sender,
                          const LossSums& lately, Evidence e) const {
  e.frames = {rnr_last_frame_, 0};
  findings.add(RuleId::kRnr, e, [&] {
    return fmt::format("{}: no Receive was posted for a Send{}",
                       counted(lately.rnr_owed, "RNR NAK"), retries_clause(c, sender));
  });
}

// The requester must register the memory that a Call advertises, and keep it registered until the
// Reply. A peer that reports a remote operational error failed by itself.
void Recovery::report_refused(Findings& findings, const roce::Connection& c, int sender,
                              Refused why) const {
  const bool offered = why == Refused::kOffered;
  const int side = why == Refused::kNotKnown ? -1 : by_fault_of_peer(why) ? 1 - sender : sender;
  findings.add(
      RuleId::kConnLost, about(c, side, fatal_frame_, 0),
      [&] {
        return fmt::format(
            "a NAK \"{1}\" refused the request with PSN {0:#08x}{2} and ended the connection",
            fatal_psn_, wire::nak_name(fatal_code_),
            offered ? ", although an in-flight Call advertises the memory for it," : "");
      },
      offered ? "Have the requester register memory with the required access before it sends the "
                "Call, and deregister it only after the answer arrives."
              : nullptr);
}

void Recovery::report_rnr_exceeded(Findings& findings, const roce::Connection& c, int sender,
                                   const ExcusedRnr& excused, std::uint8_t retries) const {
  const bool owed = excused.count == 0 || excused.last_psn != rnr_last_psn_;
  const int side = owed ? 1 - sender : who_sent(c, sender, excused);
  findings.add(
      RuleId::kConnLost, about(c, side, rnr_frame_, rnr_last_frame_),
      [&] {
        return fmt::format(
            "no Receive was posted for {}{:#08x}, which ended the connection by the RNR retry "
            "count of {}",
            owed ? "the Send with PSN " : fmt::format("{}, PSN ", excused.excuse->what),
            rnr_last_psn_, retries);
      },
      owed ? nullptr : excused.excuse->advice);
}

// A capture between the two cannot distinguish a network that loses packets from a dead peer.
void Recovery::report_never_acknowledged(Findings& findings, const roce::Connection& c,
                                         int sender) const {
  Evidence e = about(c, -1, first_frame_, last_frame_);
  e.topic = static_cast<std::uint32_t>(sender);
  e.needs = kLossFree | kBothDirections;
  findings.add(
      RuleId::kConnLost, e,
      [&] {
        return fmt::format(
            "{} sent the request with PSN {:#08x} {} times, until its retries were exhausted, {}; "
            "the capture does not show whether the network or the peer is the reason",
            c.side[static_cast<std::size_t>(sender)].address.to_string(), burst_psn_, tries_ + 1,
            c.state == roce::State::kClosed
                ? "and it was never acknowledged, which ended the connection"
                : "and it was not acknowledged when the capture ended");
      },
      "Check at the peer, by a capture or counters, whether the requests arrive, and whether the "
      "peer runs at all. Every unanswered Call fails or is resent on a new connection.");
}

bool Recovery::report_fatal(Findings& findings, const roce::Connection& c, int sender,
                            const SideHistory& history) const {
  if (fatal_) {
    report_refused(findings, c, sender, history.refused_operation);
    return true;
  }
  if (const auto n = rnr_retries(c, sender); n && *n != kRnrForever && rnr_tries_ > *n) {
    report_rnr_exceeded(findings, c, sender, history.excused, *n);
    return true;
  }
  if (c.setup != roce::Setup::kCm || !c.side[0].cm.retries_known) return false;
  if (tries_ == 0 || tries_ < c.side[0].cm.retry_count) return false;
  report_never_acknowledged(findings, c, sender);
  return true;
}

}  // namespace rpcrdma::rules
