// Congestion that the network signals to the senders of a connection: CE marks (ECN) and CNPs.
#pragma once

#include <cstdint>

#include <rpcrdma/model/model.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// The network signalled congestion on the connection.
[[nodiscard]] bool was_congested(const roce::Connection& connection);

class Congestion {
 public:
  void signalled(const roce::PacketMeta& meta);
  // A Call of the client and its Reply.
  void answered(const model::Call& call, const model::Message& reply);
  // Called when the connection closes. `client`: its side; -1: unknown.
  void report(Findings& findings, const roce::Connection& connection, int client) const;

 private:
  struct Latencies {
    std::int64_t calls = 0;
    std::int64_t ns = 0;
    void add(std::int64_t latency);
    [[nodiscard]] std::int64_t mean() const { return calls == 0 ? 0 : ns / calls; }
  };

  std::int64_t latest_ns_ = INT64_MIN;
  std::uint64_t first_frame_ = 0, last_frame_ = 0;
  Latencies marked_, unmarked_;  // Calls that were in flight at a signal, and the others
};

}  // namespace rpcrdma::rules
