// A trace in the Trace Event Format, and whether it keeps to that: what every event must have, and
// that slices of a thread lie beside or within one another.
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
  // The latest names.
  std::map<std::uint32_t, std::string> processes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> threads;  // by pid and tid
};

inline std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}
// Further from the trace's beginning a double of microseconds has no nanoseconds.
inline constexpr std::int64_t kExactNs = 1'000'000'000'000'000;

// The trace's events, taken apart; fails where the format is not kept to.
[[nodiscard]] Trace read_trace(const std::string& text);

// The records of a JSON text sequence (RFC 7464), each of them whole.
[[nodiscard]] std::vector<json> read_sequence(const std::string& text);

}  // namespace rpcrdma::timeline::testing
