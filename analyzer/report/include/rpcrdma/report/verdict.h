// The verdict of a report, in one or two sentences.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

enum class Health : std::uint8_t {
  kNothing,  // no RPC-over-RDMA message
  kLossy,    // the capture lost too many packets for a verdict
  kErrors,   // findings of severity error
  kWarnings,
  kHealthy,
};

struct Verdict {
  Health health = Health::kNothing;
  std::string text;
};

[[nodiscard]] Verdict verdict(const Report& report);

}  // namespace rpcrdma::report
