// Finds responders that are silent while Calls wait for them: hung connections, and those that
// stalled for a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <rpcrdma/rules/findings.h>

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
    alive(time_ns, connection);
  }
  // Packets were retransmitted, by either side.
  void sent_again(std::uint64_t packets, std::int64_t time_ns);

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

 private:
  [[nodiscard]] std::int64_t threshold() const;
  void alive(std::int64_t time_ns, const roce::Connection& connection);
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
  std::uint32_t open_reads_ = 0;  // of the responder
  std::uint64_t payload_ = 0;     // at the last sign of life

  // The usual latency.
  std::uint64_t answers_ = 0;
  std::int64_t mean_ns_ = 0;
  std::int64_t longest_ns_ = 0, longest_before_ns_ = 0, longest_began_ns_ = 0;
};

}  // namespace rpcrdma::rules
