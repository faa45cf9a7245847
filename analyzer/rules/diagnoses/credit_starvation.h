// A requester that has work and no credit for it.
#pragma once

#include "sums.h"

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// One direction's ledger over time: how long it stood full, and which Calls waited for that to
// end. All from the capture point's view.
class CreditStarvation {
 public:
  void note(const model::Message& m);
  // When the connection closes; gives whether it was starved. `caller`: whose ledger.
  bool report(Findings& findings, const roce::Connection& connection, int caller,
              const Reported& reported) const;

  [[nodiscard]] CreditSums sums(std::int64_t now_ns) const;
  // By what was added to the sums within `ns`.
  [[nodiscard]] static bool is_starved(const CreditSums& lately, std::int64_t ns);
  // The side at fault for it.
  [[nodiscard]] int guilty(int caller) const;
  // `e`: course, time and side.
  void report(Findings& findings, const roce::Connection& connection, int caller,
              const CreditSums& lately, std::int64_t ns, Evidence e) const;

 private:
  void report(Findings& findings, int caller, const CreditSums& sums, std::int64_t ns, Evidence e,
              std::int64_t longest) const;

  std::uint64_t calls_ = 0;
  std::uint64_t waited_ = 0;
  std::uint64_t first_waited_ = 0, last_waited_ = 0;  // frames
  std::uint32_t granted_ = 0, requested_ = 0;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  std::int64_t full_since_ = -1;      // -1: a credit is free
  std::int64_t credit_back_ns_ = -1;  // a Reply ended a full ledger
  std::int64_t latency_ns_ = -1;      // of the Call that it answers
  std::int64_t full_total_ = 0, full_longest_ = 0;
};

}  // namespace rpcrdma::rules
