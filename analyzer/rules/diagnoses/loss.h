// Diagnoses retransmissions and refusals, and connections that end because of them.
#pragma once

#include "../history.h"
#include "sums.h"

#include <array>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// Why a side stalled before it retransmitted packets.
enum class Stall : std::uint8_t {
  kNone,       // no stall: the packet follows other retransmitted ones
  kLoss,       // it waited for an acknowledgment, or until a NAK for a gap
  kNoReceive,  // after an RNR NAK
};

// Returns the sender of the Sends for which no Receive was due; -1 if an answer that is missing
// from the capture may have granted it the credit.
[[nodiscard]] int who_sent(const roce::Connection& connection, int sender,
                           const ExcusedRnr& excused);

// Retransmissions and refusals of the requests of one side.
class Recovery {
 public:
  // See roce::Listener::on_sent_again().
  Stall sent_again(std::uint32_t psn, std::int64_t idle_ns, bool begins,
                   const roce::PacketMeta& meta);
  // Called after kLoss, with the time that LatencyAttribution::stood_still() returned.
  void held_up(std::int64_t ns);
  // An endpoint reported `count` retransmissions at once; the packets are not captured.
  void reported_again(std::uint64_t count, const roce::PacketMeta& meta);
  // The other side refused a request.
  void refused(const wire::Aeth& aeth, std::uint32_t psn, const roce::PacketMeta& meta);
  // The other side has received everything up to this PSN.
  void arrived(std::uint32_t psn);
  // The other side sends new data in this frame. After a NAK that ends the connection it could not,
  // so an earlier NAK was for the copy of a request that it had already executed.
  void peer_went_on(std::uint64_t frame) { fatal_ = fatal_ && frame <= fatal_frame_; }
  // The side sends new packets from this PSN on: its retransmissions are over.
  void went_on(std::uint32_t psn);

  // Called when the connection closes: reports bursts of retransmissions and the loss that caused
  // the first of them. Returns whether they are a storm.
  bool report_storm(Findings& findings, const roce::Connection& connection, int sender,
                    const Reported& reported) const;
  // Report RNR NAKs for Sends for which a Receive was due, and for others. `history`: of the
  // sender.
  bool report_rnr(Findings& findings, const roce::Connection& connection, int sender,
                  const SideHistory& history, const Reported& reported) const;
  bool report_excused_rnr(Findings& findings, const roce::Connection& connection, int sender,
                          const SideHistory& history, const Reported& reported) const;
  // Reports a refusal or loss that ended the connection. Returns whether there was one.
  bool report_fatal(Findings& findings, const roce::Connection& connection, int sender,
                    const SideHistory& history) const;

  [[nodiscard]] LossSums sums(const roce::Connection& connection, int sender,
                              const SideHistory& history) const;
  // Returns whether the share of retransmissions is harmful, unless packets were captured twice.
  [[nodiscard]] bool is_storm(const LossSums& lately) const;
  // The same reports for the sums `lately` that were added within `ns`. `e`: phase, span and side.
  void report_storm(Findings& findings, const roce::Connection& connection, int sender,
                    const LossSums& lately, std::int64_t ns, Evidence e) const;
  void report_rnr(Findings& findings, const roce::Connection& connection, int sender,
                  const LossSums& lately, Evidence e) const;
  void report_excused_rnr(Findings& findings, const roce::Connection& connection, int sender,
                          const SideHistory& history, const LossSums& lately, Evidence e) const;

  // Returns the time for which the network held the side up. Retries that are still unacknowledged
  // indicate a dead peer, not a slow network, and do not count.
  [[nodiscard]] std::int64_t held_up_ns() const { return held_up_ - (tries_ != 0 ? trying_ : 0); }

 private:
  bool report_recorded_storm(Findings& findings, const roce::Connection& connection, int sender,
                             const Reported& reported) const;
  void report_refused(Findings& findings, const roce::Connection& connection, int sender,
                      Refused why) const;
  void report_rnr_exceeded(Findings& findings, const roce::Connection& connection, int sender,
                           const ExcusedRnr& excused, std::uint8_t retries) const;
  void report_never_acknowledged(Findings& findings, const roce::Connection& connection,
                                 int sender) const;

  std::uint64_t packets_ = 0, bursts_ = 0;
  std::uint64_t copies_ = 0;  // packets that were captured twice and not sent twice
  std::uint32_t first_psn_ = 0;
  std::uint64_t first_frame_ = 0, first_nak_frame_ = 0;  // no NAK: a timeout
  std::int64_t first_idle_ = 0;
  std::int64_t stalled_ = 0, longest_stall_ = 0;
  std::int64_t held_up_ = 0;
  std::uint32_t burst_psn_ = 0, last_psn_ = 0;
  std::uint32_t tries_ = 0;  // consecutive retransmissions of the packet `burst_psn_`
  std::int64_t trying_ = 0;  // the part of held_up_ that belongs to these
  std::uint64_t last_frame_ = 0;
  std::uint64_t nak_frame_ = 0;  // a PSN sequence error NAK without a retransmission yet
  bool not_ready_ = false;       // an RNR NAK without a retransmission yet
  bool for_rnr_ = false;         // the current retransmissions follow an RNR NAK

  std::uint64_t rnr_ = 0;
  std::uint32_t rnr_psn_ = 0;
  std::uint32_t rnr_last_psn_ = 0, rnr_tries_ = 0;  // consecutive RNR NAKs for it
  std::uint64_t rnr_frame_ = 0, rnr_last_frame_ = 0;

  bool fatal_ = false;
  std::uint8_t fatal_code_ = 0;  // wire::NakCode
  std::uint32_t fatal_psn_ = 0;
  std::uint64_t fatal_frame_ = 0;
};

}  // namespace rpcrdma::rules
