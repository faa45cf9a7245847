// Calls without an answer: those in flight where the capture ends, and those that never got one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

// By the ID of their connection, and whether they are of its reverse direction: Calls whose
// connection goes on, and that are not so old that no answer is to be expected any more.
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
