#include "loss.h"

#include "add_time.h"
#include "durations.h"
#include "lists.h"

#include <algorithm>
#include <optional>

#include <rpcrdma/roce/psn.h>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kStormPackets = 16;
constexpr std::uint64_t kStormShare = 50;          // a fiftieth of what the side sent
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

// How often `sender` tries again after an RNR NAK: its peer told it in the CM exchange.
std::optional<std::uint8_t> rnr_retries(const roce::Connection& c, int sender) {
  const roce::CmSide& peer = c.side[static_cast<std::size_t>(1 - sender)].cm;
  if (c.setup != roce::Setup::kCm || !peer.retries_known) return std::nullopt;
  return peer.rnr_retry_count;
}

}  // namespace

void Recovery::sent_again(std::uint32_t psn, std::int64_t idle_ns, bool begins,
                          const roce::PacketMeta& meta) {
  ++packets_;
  // A timeout lasts longer: the capture has this packet twice.
  if (begins && nak_frame_ == 0 && idle_ns < kShortestTimeout) ++copies_;
  const bool new_burst = begins || nak_frame_ != 0 || roce::psn_diff(psn, last_psn_) <= 0;
  last_psn_ = psn;
  last_frame_ = meta.frame;
  if (!new_burst) return;
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
  add_time(trying_, idle_ns);
  longest_stall_ = std::max(longest_stall_, idle_ns);
}

void Recovery::told_again(std::uint64_t count, const roce::PacketMeta& meta) {
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

// The packets themselves are not seen: they are a storm where they are one even if all else was
// sent in the smallest packets there are, and each packet was acknowledged.
void Recovery::tell_told_storm(Findings& findings, const roce::Connection& c, int sender) const {
  if (packets_ < kStormPackets) return;
  std::uint64_t most = packets_;
  bool unseen = false;
  for (const roce::Side& side : c.side) {
    most += side.counters.packets_at_most;
    unseen |= side.operations_unseen;
  }
  Evidence e = about(c, -1, first_frame_, last_frame_);
  e.topic = static_cast<std::uint32_t>(sender);
  e.needs = kLossFree;
  if (unseen || packets_ * kStormShare < most) {
    e.unsure = "how many packets were sent in all an endpoint does not tell";
  }
  findings.add(RuleId::kRetxStorm, e, [&] {
    return fmt::format(
        "{} sent {} packets again, in {} bursts, of {} at most; for how long it stood still before "
        "them its endpoint does not tell",
        c.side[static_cast<std::size_t>(sender)].address.to_string(), packets_, bursts_, most);
  });
}

void Recovery::tell_storm(Findings& findings, const roce::Connection& c, int sender) const {
  if (c.recorded) return tell_told_storm(findings, c, sender);
  const std::uint64_t all = c.side[static_cast<std::size_t>(sender)].counters.packets;
  if (copies_ * 2 > packets_) return;
  if (packets_ < kStormPackets || packets_ * kStormShare < all) return;
  Evidence e = about(c, -1, first_frame_, last_frame_);
  e.topic = static_cast<std::uint32_t>(sender);
  findings.add(RuleId::kRetxStorm, e, [&] {
    const std::string why =
        first_nak_frame_ != 0 ? fmt::format("the NAK in frame {}", first_nak_frame_)
                              : fmt::format("{} without an acknowledgement", duration(first_idle_));
    return fmt::format(
        "{} sent {} of {} packets again, in {} bursts; the first lost one has PSN {:#08x} and was "
        "sent again after {}; the side stood still for {} in all, at most {}",
        c.side[static_cast<std::size_t>(sender)].address.to_string(), packets_, all, bursts_,
        first_psn_, why, duration(stalled_), duration(longest_stall_));
  });
}

void Recovery::tell_rnr(Findings& findings, const roce::Connection& c, int sender) const {
  if (rnr_ == 0) return;
  findings.add(RuleId::kRnr, about(c, 1 - sender, rnr_frame_, rnr_last_frame_), [&] {
    std::string retries;
    if (const auto n = rnr_retries(c, sender)) {
      retries = *n == kRnrForever ? ", which is tried again without end"
                : *n == 0         ? ", which is not tried again: the RNR retry count is 0"
                                  : fmt::format(", which is tried again {} times at most", *n);
    }
    return fmt::format(
        "{}: no Receive was posted for a SEND{}; the first one for PSN "
        "{:#08x}",
        counted(rnr_, "RNR NAK"), retries, rnr_psn_);
  });
}

bool Recovery::tell_fatal(Findings& findings, const roce::Connection& c, int sender) const {
  if (fatal_) {
    findings.add(RuleId::kConnLost, about(c, sender, fatal_frame_, 0), [&] {
      return fmt::format(
          "the request with PSN {:#08x} was refused with the NAK \"{}\", which ends "
          "the connection",
          fatal_psn_, wire::nak_name(fatal_code_));
    });
    return true;
  }
  if (const auto n = rnr_retries(c, sender); n && *n != kRnrForever && rnr_tries_ > *n) {
    findings.add(RuleId::kConnLost, about(c, 1 - sender, rnr_frame_, rnr_last_frame_), [&] {
      return fmt::format(
          "no Receive was posted for the SEND with PSN {:#08x}, and with an RNR retry count of {} "
          "that ends the connection",
          rnr_last_psn_, *n);
    });
    return true;
  }
  if (c.setup != roce::Setup::kCm || !c.side[0].cm.retries_known) return false;
  const std::uint8_t retries = c.side[0].cm.retry_count;
  if (tries_ != 0 && tries_ >= retries) {
    Evidence e = about(c, 1 - sender, first_frame_, last_frame_);
    e.needs = kLossFree | kBothDirections;
    findings.add(RuleId::kConnLost, e, [&] {
      return fmt::format(
          "the request with PSN {:#08x} was sent {} times, as often as is tried, and {}",
          burst_psn_, tries_ + 1,
          c.state == roce::State::kClosed ? "never acknowledged, which ends the connection"
                                          : "not acknowledged when the capture ended");
    });
    return true;
  }
  return false;
}

}  // namespace rpcrdma::rules
