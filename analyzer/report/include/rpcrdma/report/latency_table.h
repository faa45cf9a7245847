// Tables of latencies: who or what is slow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

enum class LatencyBy : std::uint8_t { kConnection, kClient, kServer, kProcedure, kSize };
inline constexpr std::array kLatencyTables{LatencyBy::kConnection, LatencyBy::kClient,
                                           LatencyBy::kServer, LatencyBy::kProcedure,
                                           LatencyBy::kSize};
[[nodiscard]] const char* latency_by_name(LatencyBy by);  // "connection", "client", ...

struct LatencyTableRow {
  std::string name;              // "10.0.0.2", "NFS v4 READ", "up to 4 KiB"; of untrusted text
  bool reverse = false;          // Calls of the server
  std::uint32_t connection = 0;  // its ID, in a table of connections; 0: connections not listed
  base::Histogram latency;       // not empty
  double share_of_time = 0;      // of the latencies of all Calls together
  // How many times as long its Calls took as those of the other rows, procedure by procedure, on
  // average. Only with ten Calls on both sides, and if half of the row's Calls can be compared.
  std::optional<double> times_as_slow;
};

// Connections, clients and servers are sorted by the time that they lost against the others, and
// procedures by share of time. Sizes go up.
[[nodiscard]] std::vector<LatencyTableRow> latency_table(const Report& report, LatencyBy by);

// The quantile that a sample of this size can have: p90 needs ten values, p99 a hundred. p50 needs
// two.
[[nodiscard]] std::optional<std::int64_t> given_quantile(const base::Histogram& h, double q);

struct LatencyQuantile {
  const char* name;  // "p99.9"
  const char* key;   // "p999"
  double q;
};
inline constexpr std::array<LatencyQuantile, 5> kLatencyQuantiles{{{"p50", "p50", 0.5},
                                                                   {"p90", "p90", 0.9},
                                                                   {"p95", "p95", 0.95},
                                                                   {"p99", "p99", 0.99},
                                                                   {"p99.9", "p999", 0.999}}};

}  // namespace rpcrdma::report
