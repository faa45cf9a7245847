// Packets that were sent again, refusals, and how they end a connection.
#pragma once

#include "../history.h"
#include "sums.h"

#include <array>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// Why a side stood still before it sent packets again.
enum class Stall : std::uint8_t {
  kNone,       // it did not: they follow others that it sent again
  kLoss,       // for want of an acknowledgement, or until a NAK for a gap
  kNoReceive,  // after an RNR NAK
};

// The sender of what no Receive was due for; -1 where an answer that the capture lacks may have
// given it the credit.
[[nodiscard]] int who_sent(const roce::Connection& connection, int sender,
                           const ExcusedRnr& excused);

// What happened to the requests of one side.
class Recovery {
 public:
  // See roce::Listener::on_sent_again().
  Stall sent_again(std::uint32_t psn, std::int64_t idle_ns, bool begins,
                   const roce::PacketMeta& meta);
  // After kLoss: for how much of that see Turns.
  void held_up(std::int64_t ns);
  // As its endpoint tells of it: packets that nobody sees, all at once.
  void reported_again(std::uint64_t count, const roce::PacketMeta& meta);
  // The other side refused a request.
  void refused(const wire::Aeth& aeth, std::uint32_t psn, const roce::PacketMeta& meta);
  // The other side has what came up to this PSN.
  void arrived(std::uint32_t psn);
  // The other side sends something new in this frame, which it could not after a refusal that ends
  // the connection: that was for the copy of a request that it had done before.
  void peer_went_on(std::uint64_t frame) { fatal_ = fatal_ && frame <= fatal_frame_; }
  // The side sends something new, from this PSN on: what it had sent again is behind it.
  void went_on(std::uint32_t psn);

  // When the connection closes: bursts of packets that were sent again, and the loss behind the
  // first of them. Gives whether there were so many.
  bool report_storm(Findings& findings, const roce::Connection& connection, int sender,
                    const Reported& reported) const;
  // `history`: of the sender. Of RNR NAKs for SENDs that should have found a Receive, and of
  // others.
  bool report_rnr(Findings& findings, const roce::Connection& connection, int sender,
                  const SideHistory& history, const Reported& reported) const;
  bool report_excused_rnr(Findings& findings, const roce::Connection& connection, int sender,
                          const SideHistory& history, const Reported& reported) const;
  // Whether it cost the side its connection; tells why.
  bool report_fatal(Findings& findings, const roce::Connection& connection, int sender,
                    const SideHistory& history) const;

  [[nodiscard]] LossSums sums(const roce::Connection& connection, int sender,
                              const SideHistory& history) const;
  // So many packets of those were sent again that it hurts, unless the capture has them twice.
  [[nodiscard]] bool is_storm(const LossSums& lately) const;
  // The same, of what was added to the sums `lately`, within `ns`. `e`: course, time and side.
  void report_storm(Findings& findings, const roce::Connection& connection, int sender,
                    const LossSums& lately, std::int64_t ns, Evidence e) const;
  void report_rnr(Findings& findings, const roce::Connection& connection, int sender,
                  const LossSums& lately, Evidence e) const;
  void report_excused_rnr(Findings& findings, const roce::Connection& connection, int sender,
                          const SideHistory& history, const LossSums& lately, Evidence e) const;

  // Time that the network held the side up. What it went on sending in vain tells of a peer that is
  // gone, not of how long packets take.
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
  std::uint64_t copies_ = 0;  // packets that only the capture has twice
  std::uint32_t first_psn_ = 0;
  std::uint64_t first_frame_ = 0, first_nak_frame_ = 0;  // no NAK: a timeout
  std::int64_t first_idle_ = 0;
  std::int64_t stalled_ = 0, longest_stall_ = 0;
  std::int64_t held_up_ = 0;
  std::uint32_t burst_psn_ = 0, last_psn_ = 0;
  std::uint32_t tries_ = 0;  // the packet `burst_psn_` was sent again, without another in between
  std::int64_t trying_ = 0;  // of held_up_, what stood before those
  std::uint64_t last_frame_ = 0;
  std::uint64_t nak_frame_ = 0;  // a PSN sequence error NAK that nothing was sent again for yet
  bool not_ready_ = false;       // an RNR NAK, likewise
  bool for_rnr_ = false;         // what is being sent again is for one

  std::uint64_t rnr_ = 0;
  std::uint32_t rnr_psn_ = 0;
  std::uint32_t rnr_last_psn_ = 0, rnr_tries_ = 0;  // RNR NAKs for it, one after the other
  std::uint64_t rnr_frame_ = 0, rnr_last_frame_ = 0;

  bool fatal_ = false;
  std::uint8_t fatal_code_ = 0;  // wire::NakCode
  std::uint32_t fatal_psn_ = 0;
  std::uint64_t fatal_frame_ = 0;
};

}  // namespace rpcrdma::rules
