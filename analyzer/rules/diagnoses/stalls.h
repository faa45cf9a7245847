// Finds responders that are silent while Calls wait for them: hung connections, and those that
// stalled for a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/silence.h>

namespace rpcrdma::rules {

// The Calls of one side. Any message of the responder is a sign of life, and so is any RDMA
// operation that it begins, that ends or that moves data. A silence is too long if it lasts
//   - at least a second,
//   - at least ten times the recent average latency of the connection's Calls,
//   - and at least twice the longest latency of the last ten to twenty seconds.
// If the connection has had fewer than eight answers, the usual latency is not known, and the
// silence must last ten seconds. So neither a slow but steady responder nor a short pause is
// reported.
class Stalls {
 public:
  explicit Stalls(std::uint8_t caller) : caller_(caller) {}

  // Notes a message.
  void note(const model::Message& m, const roce::Connection& connection);
  // The responder begins an RDMA operation, or one of its operations ends.
  void worked(const roce::Operation& op, bool ends, std::int64_t time_ns,
              const roce::Connection& connection);
  // Returns whether, since the last sign of life, the responder has sent payload, or received some
  // for an RDMA Read.
  [[nodiscard]] bool moves(const roce::Connection& connection) const {
    return since_ns_ >= 0 && payload(connection) != payload_;
  }
  void moved(std::int64_t time_ns, const roce::Connection& connection) {
    keep_silence(time_ns);
    alive(time_ns, connection);
  }
  // Packets were retransmitted, by either side.
  void sent_again(std::uint64_t packets, std::int64_t time_ns);
  // The caller retransmitted a packet, `idle_ns` after its previous one.
  void caller_sent_again(std::int64_t idle_ns, const roce::PacketMeta& meta);
  // The responder sent a NAK, for which the caller retransmits at once.
  void refused() {
    if (rare_ != nullptr) rare_->gap_until_ns = -1;
  }

  // Returns whether the capture point stood still, probably with the responder: nothing was
  // captured for a long time, and then new Calls arrived together with retransmissions of them. A
  // requester retransmits after a timeout, so these packets had been waiting.
  [[nodiscard]] bool stood_still() const {
    return rare_ != nullptr && rare_->gap_until_ns >= 0 && rare_->gap_copies != 0;
  }
  // Returns whether the connection ended soon after that: its requester had waited for long.
  [[nodiscard]] bool stood_still_before(std::int64_t ended_ns) const {
    if (rare_ == nullptr || rare_->stood_still_until_ns == 0) return false;
    const std::int64_t until = rare_->stood_still_until_ns;
    return ended_ns - until < until - rare_->stood_still_since_ns;
  }
  void report_standstill(Findings& findings, const roce::Connection& connection);

  // Returns whether an event at `time_ns` is newer than the last sign of life.
  [[nodiscard]] bool newer(std::int64_t time_ns) const { return time_ns > since_ns_; }
  // Returns whether the silence is too long, or was reported and still lasts. To be called before a
  // sign of life is noted, which ends the silence.
  [[nodiscard]] bool due(std::int64_t now_ns) const {
    return since_ns_ >= 0 && (reported_ || now_ns - since_ns_ >= threshold());
  }
  enum class State : std::uint8_t {
    kLasts,
    kOver,         // a sign of life, or the connection ended
    kCaptureEnds,  // the capture does not show how it continues
  };
  // `oldest`: the Call that waits longest; null: not known. A silence is reported again when it is
  // over, and whenever it has lasted twice as long.
  void report(Findings& findings, const roce::Connection& connection, const model::Call* oldest,
              std::int64_t now_ns, State state);
  // The longest silence so far. `now_ns`: when the connection or the capture ended.
  [[nodiscard]] Silence longest_silence(std::int64_t now_ns) const;

 private:
  // To be called before alive(): keeps the silence that ends now if it is the longest.
  void keep_silence(std::int64_t time_ns) {
    constexpr std::int64_t kShortestKept = 1'000'000;
    if (since_ns_ < 0 || time_ns - since_ns_ < kShortestKept) return;
    Rare& r = rare();
    if (time_ns - since_ns_ > r.silence_until_ns - r.silence_since_ns) {
      r.silence_since_ns = since_ns_;
      r.silence_until_ns = time_ns;
      r.silence_calls = waiting_;
      r.silence_frame = newest_frame_;
    }
  }
  [[nodiscard]] std::int64_t threshold() const;
  void alive(std::int64_t time_ns, const roce::Connection& connection);
  // Notes any message.
  void seen(const model::Message& m);
  [[nodiscard]] std::uint64_t payload(const roce::Connection& connection) const;
  void learn(std::int64_t latency_ns, std::int64_t time_ns);
  enum class Arrived : std::uint8_t { kAll, kSome, kNone, kNotKnown };
  [[nodiscard]] Arrived arrived(const roce::Connection& connection,
                                const model::Call* oldest) const;
  [[nodiscard]] bool by_responder(const roce::Connection& connection, Arrived arrived,
                                  std::int64_t now_ns) const;
  [[nodiscard]] std::string text(const roce::Connection& connection, const model::Call* oldest,
                                 std::int64_t now_ns) const;

  std::uint8_t caller_;
  // The current silence.
  std::int64_t since_ns_ = -1;  // the last sign of life, or the first Call; -1: no Call waits
  std::uint64_t losses_ = 0;    // at that time
  std::uint64_t sent_again_ = 0;
  std::int64_t sent_again_ns_ = -1;
  bool reported_ = false;
  std::int64_t reported_silent_ns_ = 0;
  int reported_side_ = -1;

  std::uint32_t waiting_ = 0, granted_ = 0;  // Calls, credits
  std::uint32_t newest_psn_ = 0;
  std::uint64_t newest_frame_ = 0;  // of the latest Call
  std::uint32_t open_reads_ = 0;    // of the responder
  std::uint64_t payload_ = 0;       // at the last sign of life

  // What few connections need. There may be very many connections.
  struct Rare {
    // When the last silence that was reported ended: the latency of Calls from before is not usual.
    std::int64_t stall_until_ns = INT64_MIN;
    // The latest time without any packet that ended with a Call; `until` is -1 if it is over.
    std::int64_t gap_since_ns = -1, gap_until_ns = -1;
    std::uint64_t gap_frame = 0, gap_copy_frame = 0;
    std::uint64_t gap_copies = 0;
    std::int64_t stood_still_since_ns = 0, stood_still_until_ns = 0;
    // The longest silence.
    std::int64_t silence_since_ns = 0, silence_until_ns = 0;
    std::uint64_t silence_frame = 0;
    std::uint32_t silence_calls = 0;
  };
  [[nodiscard]] Rare& rare() {
    if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
    return *rare_;
  }
  std::unique_ptr<Rare> rare_;
  std::int64_t seen_ns_ = -1;      // the latest message or operation
  bool copies_elsewhere_ = false;  // retransmissions without a timeout, but behind no gap

  // The usual latency.
  std::uint64_t answers_ = 0;
  std::int64_t mean_ns_ = 0;
  std::int64_t longest_ns_ = 0, longest_before_ns_ = 0, longest_began_ns_ = 0;
};

}  // namespace rpcrdma::rules
