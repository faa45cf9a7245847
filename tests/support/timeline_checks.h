// Parses a trace in the Trace Event Format and checks it: each event has the required members, and
// slices of a thread are disjoint or nested, and each place of a flow is in a slice.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rpcrdma::timeline::testing {

using nlohmann::json;

struct Trace {
  std::vector<json> calls;       // slices
  std::vector<json> operations;  // slices
  std::vector<json> instants;
  std::vector<json> counters;
  std::vector<json> points;  // slices of a Call at its client and its server
  std::vector<json> stages;  // slices
  std::map<std::uint64_t, std::vector<json>> flows;  // by ID
  // The latest names.
  std::map<std::uint32_t, std::string> processes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> threads;  // by pid and tid
};

inline std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}
// At later times in a trace, a double of microseconds does not hold nanoseconds.
inline constexpr std::int64_t kExactNs = 1'000'000'000'000'000;

// Returns the events of a trace by kind. A violation of the format fails the test.
[[nodiscard]] Trace read_trace(const std::string& text);

// Returns the records of a JSON text sequence (RFC 7464). An incomplete record fails the test.
[[nodiscard]] std::vector<json> read_sequence(const std::string& text);

}  // namespace rpcrdma::timeline::testing
