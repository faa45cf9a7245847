// Faults as a person turns them up and down: shares of all packets, and rules of their own.
#pragma once

#include <string>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/fault_rules.h>

namespace rpcrdma::playground {

// Shares are 0..1, of the packets of either direction.
struct Faults {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  double corruption = 0;
  fabric::Time delay = 0;  // of every packet that meets none of the others
  // The language of `rpcrdma serve --fault` (docs/faults.md); these rules come before the others.
  std::string rules;

  friend bool operator==(const Faults&, const Faults&) = default;
};

// The same in that language: "drop rate=0.01; delay by=2ms"; empty: none.
[[nodiscard]] std::string to_text(const Faults& faults);
// Error: kBadArgument: shares or delays that cannot be; rules that are none, with the place.
[[nodiscard]] fabric::Expected<soft::FaultPlan> to_plan(const Faults& faults);

}  // namespace rpcrdma::playground
