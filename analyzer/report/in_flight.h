// Counts unanswered Calls: those in flight when the capture ends, and those that were never
// answered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// Calls in flight by connection ID and by whether they are of the reverse direction: unanswered
// Calls younger than 30 seconds, on connections that are open when the capture ends.
using InFlight = std::map<std::pair<std::uint32_t, bool>, std::uint64_t>;
[[nodiscard]] InFlight in_flight(const Report& report);

// Count the Calls in flight that match the filter: all of them, and those of one procedure.
[[nodiscard]] std::uint64_t counted_in_flight(const Report& report);
[[nodiscard]] std::uint64_t counted_in_flight(const Report& report, const ProcedureKey& procedure);

// Returns ", 2 without an answer, 5 in flight when the capture ends" for 7 `unanswered` Calls, 5 of
// them `in_flight`; empty without unanswered Calls.
[[nodiscard]] std::string unanswered_text(const Report& report, std::uint64_t unanswered,
                                          std::uint64_t in_flight);

}  // namespace rpcrdma::report
