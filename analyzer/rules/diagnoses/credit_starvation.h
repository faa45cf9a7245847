// Finds requesters that have Calls to send and no credits for them.
#pragma once

#include "sums.h"

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

// The credits of one direction over time: how long all were in use, and which Calls waited for one.
// Everything is as seen at the capture point.
class CreditStarvation {
 public:
  void note(const model::Message& m);
  // Called when the connection closes; returns whether it was starved. `caller`: the requester.
  bool report(Findings& findings, const roce::Connection& connection, int caller,
              const Reported& reported) const;

  [[nodiscard]] CreditSums sums(std::int64_t now_ns) const;
  // Judges the sums that were added within `ns`.
  [[nodiscard]] static bool is_starved(const CreditSums& lately, std::int64_t ns);
  // Returns the side at fault.
  [[nodiscard]] int guilty(int caller) const;
  // `e`: phase, span and side.
  void report(Findings& findings, const roce::Connection& connection, int caller,
              const CreditSums& lately, std::int64_t ns, Evidence e) const;

 private:
  void report(Findings& findings, int caller, const CreditSums& sums, std::int64_t ns, Evidence e,
              std::int64_t longest) const;

  std::uint64_t calls_ = 0;
  std::uint64_t waited_ = 0;
  std::uint64_t first_waited_ = 0, last_waited_ = 0;  // frames
  std::uint32_t granted_ = 0, requested_ = 0;
  bool requested_known_ = true;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  std::int64_t full_since_ = -1;      // when all credits came into use; -1: a credit is free
  std::int64_t credit_back_ns_ = -1;  // when a Reply returned the first credit after that
  std::int64_t latency_ns_ = -1;      // of the Call of that Reply
  std::int64_t full_total_ = 0, full_longest_ = 0;
};

}  // namespace rpcrdma::rules
