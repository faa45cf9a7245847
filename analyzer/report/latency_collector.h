// Collects the latencies of a report by connection and size, while the capture is read.
#pragma once

#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/report/latency.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/session/context.h>

namespace rpcrdma::report {

class LatencyCollector {
 public:
  explicit LatencyCollector(const session::Context& context) : context_(context) {}

  // `key`: the procedure under which the report counts the Call.
  void add(const model::Call& call, const model::Message& answer, const ProcedureKey& key);
  void merge(const roce::Connection& into, const roce::Connection& from);
  // Keeps the latencies of the connection by its addresses.
  void evict(const roce::Connection& connection);
  // What has been collected so far.
  [[nodiscard]] Latencies latencies() const { return complete(latencies_); }
  // The same at the end, without a copy; nothing may be added later.
  [[nodiscard]] Latencies finish() { return complete(std::move(latencies_)); }

 private:
  struct Slot {
    std::uint32_t at = 0;  // in latencies_.connections
  };
  // The place of a pair, which stays the same until another is added: pairs are never removed.
  struct Pair {
    capture::Address client, server;
    std::uint32_t at = 0;     // in latencies_.pairs
    std::uint32_t pairs = 0;  // their number when the place was found; 0: not found so far
  };
  [[nodiscard]] ConnectionLatency* slot(std::uint32_t connection);
  [[nodiscard]] ConnectionLatency& pair_of(const roce::Connection& c);
  void give_up(std::uint32_t connection);
  [[nodiscard]] Latencies complete(Latencies collected) const;

  const session::Context& context_;
  // The arrays of a connection are by the tracker's sides of the caller, because which side is the
  // client is known only at the end. `connection` is the tracker's index.
  Latencies latencies_;
  roce::ByConnection<Slot> slots_;
  // The pairs of addresses used lately, by a hash of both: formatting and comparing addresses for
  // each Call of a connection without a slot costs more than everything else that is counted of it.
  std::vector<Pair> known_pairs_;
  std::vector<std::uint32_t> free_;  // in latencies_.connections
};

}  // namespace rpcrdma::report
