// The faults that the playground's controls set: shares of all packets, a delay, and extra rules.
#pragma once

#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/fault_rules.h>

namespace rpcrdma::playground {

// Shares are 0..1 of the packets of both directions.
struct Faults {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  double corruption = 0;
  fabric::Time delay = 0;  // of every packet that none of the others affects
  // In the language of `rpcrdma serve --fault` (docs/faults.md); these rules apply first.
  std::string rules;

  friend bool operator==(const Faults&, const Faults&) = default;
};

// Returns them in that language: "drop rate=0.01; delay by=2ms"; empty: none.
[[nodiscard]] std::string to_text(const Faults& faults);
// Error: kBadArgument: a share or delay is out of range, or a rule has a syntax error (with its
// position).
[[nodiscard]] fabric::Expected<soft::FaultPlan> to_plan(const Faults& faults);

}  // namespace rpcrdma::playground
