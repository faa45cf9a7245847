// What a report comes to, in one or two sentences.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

enum class Health : std::uint8_t {
  kNothing,  // no RPC-over-RDMA message
  kLossy,    // the capture lost too much to judge by
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
