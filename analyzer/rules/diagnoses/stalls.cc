// Measures the silence of a responder, and compares it with the usual latency of its connection.
#include "stalls.h"

#include "checks/lists.h"
#include "durations.h"

#include <utility>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::rules {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kShortest = kSecond;
constexpr std::int64_t kNothingUsual = 10 * kSecond;
constexpr std::uint64_t kEnoughAnswers = 8;
constexpr std::int64_t kTimesMean = 10;
constexpr std::int64_t kTimesLongest = 2;
// A requester's timeout is longer: packets that it retransmits this soon arrived together.
constexpr std::int64_t kTogether = 1'000'000;
constexpr std::int64_t kLately = 10 * kSecond;
constexpr std::int64_t kSmoothed = 16;  // answers that the mean covers
// Limits durations from a clock that makes no sense: any product here still fits.
constexpr std::int64_t kLongest = std::int64_t{1} << 56;

const char* const kLookAtNetwork =
    "Check at the peer, by a capture or counters, whether packets arrive, and whether the peer "
    "runs.";

}  // namespace

std::int64_t Stalls::threshold() const {
  if (answers_ < kEnoughAnswers) return kNothingUsual;
  return std::max({kShortest, kTimesMean * mean_ns_,
                   kTimesLongest * std::max(longest_ns_, longest_before_ns_)});
}

void Stalls::learn(std::int64_t latency_ns, std::int64_t time_ns) {
  const std::int64_t ns = std::clamp<std::int64_t>(latency_ns, 0, kLongest);
  ++answers_;
  mean_ns_ += (ns - mean_ns_) / std::min(static_cast<std::int64_t>(answers_), kSmoothed);
  const std::int64_t age = time_ns - longest_began_ns_;
  if (age < 0 || age >= kLately) {
    longest_before_ns_ = age >= 0 && age < 2 * kLately ? longest_ns_ : 0;
    longest_ns_ = 0;
    longest_began_ns_ = time_ns;
  }
  longest_ns_ = std::max(longest_ns_, ns);
}

void Stalls::alive(std::int64_t time_ns, const roce::Connection& connection) {
  since_ns_ = waiting_ != 0 ? std::max<std::int64_t>(time_ns, 0) : -1;
  losses_ = model::losses(connection);
  payload_ = payload(connection);
  sent_again_ = 0;
  sent_again_ns_ = -1;
  reported_ = false;
}

void Stalls::seen(const model::Message& m) {
  const bool begins = m.kind == model::Kind::kCall && m.caller == caller_ && since_ns_ < 0;
  if (begins && seen_ns_ >= 0 && m.time_ns - seen_ns_ >= kShortest) {
    Rare& r = rare();
    r.gap_since_ns = seen_ns_;
    r.gap_until_ns = m.time_ns;
    r.gap_frame = m.frame;
    r.gap_copies = 0;
  }
  seen_ns_ = std::max(seen_ns_, m.time_ns);
}

void Stalls::caller_sent_again(std::int64_t idle_ns, const roce::PacketMeta& meta) {
  if (idle_ns >= kTogether) return;
  if (rare_ == nullptr || rare_->gap_until_ns < 0 ||
      meta.time_ns - rare_->gap_until_ns > kTogether) {
    copies_elsewhere_ = true;
    return;
  }
  ++rare_->gap_copies;
  rare_->gap_copy_frame = meta.frame;
}

void Stalls::report_standstill(Findings& findings, const roce::Connection& connection) {
  Rare& r = rare();
  const std::int64_t since = r.gap_since_ns;
  const std::int64_t until = std::exchange(r.gap_until_ns, -1);
  // The capture point sees each packet twice, whether it was sent twice or not.
  if (copies_elsewhere_) return;
  r.stood_still_since_ns = since;
  r.stood_still_until_ns = until;
  if (until - since > r.silence_until_ns - r.silence_since_ns) {
    r.silence_since_ns = since;
    r.silence_until_ns = until;
    r.silence_calls = waiting_;
    r.silence_frame = r.gap_frame;
  }
  Evidence e;
  e.connection = &connection;
  e.topic = 2U + caller_;
  e.losses_before = model::losses(connection);
  e.frames = {r.gap_frame, r.gap_copy_frame};
  e.span = {std::max<std::int64_t>(since, 1), until};
  findings.add(
      RuleId::kStall, e,
      [&] {
        return fmt::format(
            "the capture point stood still for {}, probably with the responder; then Calls arrived "
            "at once with {} of them, which the requester sends only after a timeout",
            duration(until - since), counted(r.gap_copies, "retransmission"));
      },
      "Find out whether the responder's process or its machine stood still at that time: stopped, "
      "paused, swapped out, or without CPU time. Its requesters waited.");
}

Silence Stalls::longest_silence(std::int64_t now_ns) const {
  Silence longest;
  longest.caller = caller_;
  if (rare_ != nullptr) {
    longest.since_ns = rare_->silence_since_ns;
    longest.until_ns = rare_->silence_until_ns;
    longest.calls = rare_->silence_calls;
    longest.frame = rare_->silence_frame;
  }
  if (since_ns_ >= 0 && now_ns - since_ns_ > longest.length_ns()) {
    longest.since_ns = since_ns_;
    longest.until_ns = now_ns;
    longest.calls = waiting_;
    longest.frame = newest_frame_;
    longest.ended = false;
  }
  return longest;
}

void Stalls::note(const model::Message& m, const roce::Connection& connection) {
  if (m.sender != caller_) keep_silence(m.time_ns);
  seen(m);
  if (m.caller == caller_) {
    if (m.kind == model::Kind::kCall) {
      if (m.psn_known) newest_psn_ = m.psn;
      newest_frame_ = m.frame;
      waiting_ = m.credits.in_use;
      granted_ = m.credits.granted;
      if (since_ns_ < 0) alive(m.time_ns, connection);
      return;
    }
    const bool usual = rare_ == nullptr || m.time_ns - m.latency_ns > rare_->stall_until_ns;
    if (m.match_frame != 0 && usual) {
      learn(m.latency_ns, m.time_ns);
    }
    waiting_ = m.credits.in_use;
    granted_ = m.credits.granted;
  }
  if (m.sender != caller_) alive(m.time_ns, connection);
}

void Stalls::worked(const roce::Operation& op, bool ends, std::int64_t time_ns,
                    const roce::Connection& connection) {
  if (op.initiator == caller_) return;
  seen_ns_ = std::max(seen_ns_, time_ns);
  if (op.kind == roce::OpKind::kRead) {
    if (!ends) {
      ++open_reads_;
    } else if (open_reads_ != 0) {
      --open_reads_;
    }
  }
  payload_ = payload(connection);
  if (since_ns_ >= 0 && newer(time_ns)) {
    keep_silence(time_ns);
    alive(time_ns, connection);
  }
}

std::uint64_t Stalls::payload(const roce::Connection& c) const {
  const std::uint64_t sent = c.side[1U - caller_].counters.payload_bytes;
  return open_reads_ == 0 ? sent : sent + c.side[caller_].counters.payload_bytes;
}

void Stalls::sent_again(std::uint64_t packets, std::int64_t time_ns) {
  if (since_ns_ < 0) return;
  sent_again_ += packets;
  sent_again_ns_ = time_ns;
}

Stalls::Arrived Stalls::arrived(const roce::Connection& c, const model::Call* oldest) const {
  if (c.recorded) return c.recorder == caller_ ? Arrived::kNotKnown : Arrived::kAll;
  if (oldest == nullptr || !oldest->message.psn_known) return Arrived::kNotKnown;
  const roce::Side& side = c.side[caller_];
  if (!side.acked_known || roce::psn_diff(side.acked_psn, oldest->message.psn) < 0) {
    return Arrived::kNone;
  }
  return roce::psn_diff(side.acked_psn, newest_psn_) < 0 ? Arrived::kSome : Arrived::kAll;
}

// Returns whether the responder is at fault: it has had the Calls for most of the time, and does
// not itself wait for the data of an RDMA Read.
bool Stalls::by_responder(const roce::Connection& c, Arrived arrived, std::int64_t now_ns) const {
  const bool reported_by_responder = c.recorded && c.recorder != caller_;
  if (reported_by_responder) return open_reads_ == 0;
  // A requester on a device sees neither acknowledgments nor retransmissions, which would show that
  // the Calls are still on their way.
  const bool device =
      (c.absent & roce::kAbsentRefusals) != 0 || c.side[1U - caller_].operations_unseen;
  if (arrived == Arrived::kNotKnown && c.recorded && device) return false;
  if (arrived == Arrived::kNone || open_reads_ != 0) return false;
  return sent_again_ns_ < 0 || now_ns - sent_again_ns_ >= (now_ns - since_ns_) / 2;
}

std::string Stalls::text(const roce::Connection& c, const model::Call* oldest,
                         std::int64_t now_ns) const {
  const char* how = "unanswered";
  switch (arrived(c, oldest)) {
    case Arrived::kAll:
      how = c.recorded ? "received and unanswered" : "acknowledged and unanswered";
      break;
    case Arrived::kSome:
      how = "partly acknowledged and unanswered";
      break;
    case Arrived::kNone:
      how = "neither acknowledged nor answered";
      break;
    case Arrived::kNotKnown:
      break;
  }
  std::string text =
      fmt::format("{} {} for {}", counted(waiting_, "Call"), how, duration(now_ns - since_ns_));
  if (granted_ != 0 && waiting_ >= granted_) text += ", no credit left";
  if (oldest != nullptr) {
    const model::Message& m = oldest->message;
    text += fmt::format("; {} {:#010x}", waiting_ == 1 ? "it is" : "the oldest is", m.xid);
    if (m.time_ns < since_ns_) text += fmt::format(", {} old", duration(now_ns - m.time_ns));
    std::uint64_t offered = 0, read = 0;
    for (const model::CallChunk& chunk : oldest->chunks) {
      if (chunk.list != model::ChunkList::kRead) continue;
      offered += chunk.length;
      read += std::min(chunk.moved, chunk.length);
    }
    const bool seen = !c.side[1U - caller_].operations_unseen;
    if (offered != 0 && seen) {
      text += fmt::format(", with {} of {} bytes of its Read chunks read", read, offered);
    }
  }
  if (open_reads_ != 0) {
    text +=
        fmt::format("; {} of the responder without a response", counted(open_reads_, "RDMA Read"));
  }
  if (sent_again_ != 0) {
    text += fmt::format("; {} retransmitted meanwhile", counted(sent_again_, "packet"));
  }
  return text;
}

void Stalls::report(Findings& findings, const roce::Connection& connection,
                    const model::Call* oldest, std::int64_t now_ns, State state) {
  const std::int64_t silent = now_ns - since_ns_;
  if (reported_ && state == State::kLasts && silent < 2 * reported_silent_ns_) return;
  const Arrived how = arrived(connection, oldest);
  Evidence e;
  e.connection = &connection;
  if (reported_) e.phase = state == State::kLasts ? ReportPhase::kLasts : ReportPhase::kEnds;
  if (!reported_) reported_side_ = by_responder(connection, how, now_ns) ? 1 - caller_ : -1;
  e.side = reported_side_;
  e.topic = caller_;
  e.losses_before = losses_;
  if (oldest != nullptr) e.frames = {oldest->message.frame, 0};
  e.span = {std::max<std::int64_t>(since_ns_, 1), state == State::kOver ? now_ns : 0};
  findings.add(
      RuleId::kStall, e, [&] { return text(connection, oldest, now_ns); },
      reported_side_ < 0 ? kLookAtNetwork : nullptr);
  reported_ = true;
  if (state == State::kOver) rare().stall_until_ns = now_ns;
  reported_silent_ns_ = std::min(silent, kLongest);
}

}  // namespace rpcrdma::rules
