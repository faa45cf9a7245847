// Calls without an answer: those in flight where the capture ends, and those that never got one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// By the ID of the connection, and whether they are of its reverse direction: outstanding Calls of
// connections that are open when the capture ends, younger than 30 seconds.
using InFlight = std::map<std::pair<std::uint32_t, bool>, std::uint64_t>;
[[nodiscard]] InFlight in_flight(const Report& report);

// Of those that a filter leaves in: all, and those of a procedure.
[[nodiscard]] std::uint64_t counted_in_flight(const Report& report);
[[nodiscard]] std::uint64_t counted_in_flight(const Report& report, const ProcedureKey& procedure);

// ", 2 without an answer, 5 in flight when the capture ends": of `unanswered` Calls `in_flight`
// are; empty for none.
[[nodiscard]] std::string unanswered_text(const Report& report, std::uint64_t unanswered,
                                          std::uint64_t in_flight);

}  // namespace rpcrdma::report
