// A responder that says nothing while Calls wait for it: a hung connection, or one that stood still
// for a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// The Calls of one side. Any message of the responder is a sign of life, and any RDMA operation
// that it begins, that ends or moves data. It is silent for too long when it has been so
//   - for a second,
//   - for ten times as long as the connection's Calls take on average lately,
//   - for twice as long as any of them took in the last ten to twenty seconds;
// and for ten seconds where the connection has had fewer than eight answers, which tell too little
// of what is usual. So a responder that is slow but steady stalls nothing, nor does a short pause.
class Stalls {
 public:
  explicit Stalls(std::uint8_t caller) : caller_(caller) {}

  // A message.
  void note(const model::Message& m, const roce::Connection& connection);
  // The responder begins an RDMA operation, or one of it ends.
  void worked(const roce::Operation& op, bool ends, std::int64_t time_ns,
              const roce::Connection& connection);
  // Since the last sign of life the responder has sent payload, or got some for an RDMA READ.
  [[nodiscard]] bool moves(const roce::Connection& connection) const {
    return since_ns_ >= 0 && payload(connection) != payload_;
  }
  void moved(std::int64_t time_ns, const roce::Connection& connection) {
    alive(time_ns, connection);
  }
  // Packets were sent again, by either side.
  void sent_again(std::uint64_t packets, std::int64_t time_ns);

  // It has been silent for too long, or it was found to be. To be asked before a sign of life is
  // noted: that is when it is over.
  // What was seen then is newer than the last sign of life.
  [[nodiscard]] bool newer(std::int64_t time_ns) const { return time_ns > since_ns_; }
  [[nodiscard]] bool due(std::int64_t now_ns) const {
    return since_ns_ >= 0 && (reported_ || now_ns - since_ns_ >= threshold());
  }
  enum class State : std::uint8_t {
    kLasts,
    kOver,         // a sign of life, or the connection ended
    kCaptureEnds,  // nobody knows how it goes on
  };
  // `oldest`: the Call that waits longest; null: not known. What is reported already is so again
  // when it is over, and whenever it has lasted twice as long.
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
  // The silence that lasts.
  std::int64_t since_ns_ = -1;  // the last sign of life, or the first Call; -1: no Call waits
  std::uint64_t losses_ = 0;    // then
  std::uint64_t sent_again_ = 0;
  std::int64_t sent_again_ns_ = -1;
  bool reported_ = false;
  std::int64_t reported_silent_ns_ = 0;
  int reported_side_ = -1;

  std::uint32_t waiting_ = 0, granted_ = 0;  // Calls, credits
  std::uint32_t newest_psn_ = 0;
  std::uint32_t open_reads_ = 0;  // of the responder
  std::uint64_t payload_ = 0;     // at the last sign of life

  // What is usual.
  std::uint64_t answers_ = 0;
  std::int64_t mean_ns_ = 0;
  std::int64_t longest_ns_ = 0, longest_before_ns_ = 0, longest_began_ns_ = 0;
};

}  // namespace rpcrdma::rules
