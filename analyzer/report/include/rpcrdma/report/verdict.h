// The verdict of a report: one or two sentences on faults, one on time, and one on both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

enum class Health : std::uint8_t {
  kNothing,  // no RPC-over-RDMA message
  kLossy,    // the capture lost too many packets for a verdict
  kErrors,   // findings of severity error
  kWarnings,
  kHealthy,
};

// A procedure that the sentence on time names.
struct VerdictProcedure {
  std::string name;
  std::uint64_t calls = 0;  // answered
  std::int64_t p50_ns = 0, p99_ns = 0, max_ns = 0;
  // How much of the median the responder had; empty: not known.
  std::optional<std::uint32_t> responder_percent;
};

// The side that retransmitted the largest share of its packets.
struct VerdictResends {
  std::string role, address;
  std::uint64_t retransmitted = 0, packets = 0;
  [[nodiscard]] double percent() const {
    return packets == 0 ? 0
                        : 100.0 * static_cast<double>(retransmitted) / static_cast<double>(packets);
  }
};

struct VerdictNumbers {
  std::uint64_t calls = 0, unanswered = 0, slow = 0;
  std::uint64_t retransmitted = 0;
  std::optional<VerdictResends> resends;     // empty: nothing was retransmitted
  std::vector<VerdictProcedure> procedures;  // at most two
  std::int64_t longest_silence_ns = 0;
  std::uint64_t outages = 0;
  std::int64_t longest_outage_ns = 0;
};

struct Verdict {
  Health health = Health::kNothing;
  // Everything in the capture was judged. Without it, a verdict does not say "Healthy".
  bool judged = true;
  std::string text;  // on faults
  std::string time;  // on time; empty without answered Calls
  std::string ends;  // on both ends of Calls; empty if one source alone shows them
  // Role and address of the one side at fault in all errors, or else in all warnings.
  std::string role, side;
  VerdictNumbers numbers;
  std::vector<std::size_t> evidence;  // indices of the findings of the worst severity, the first

  // All sentences.
  [[nodiscard]] std::string sentence() const {
    std::string all = text;
    for (const std::string* more : {&time, &ends}) {
      if (!more->empty()) all += ' ' + *more;
    }
    return all;
  }
};

// "nothing", "not judged", "errors", "warnings", "no faults found", "healthy"
[[nodiscard]] const char* verdict_kind(const Verdict& verdict);

[[nodiscard]] Verdict verdict(const Report& report);

}  // namespace rpcrdma::report
