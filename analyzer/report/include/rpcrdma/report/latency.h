// Latencies by connection, by client and server, and by size, as a report stores them. The tables
// that people read are made from them: see latency_table.h.
//
// Rows belong to connections and not to addresses, because a merge of reports can find that client
// and server of a connection are swapped.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/report/procedure_key.h>
#include <rpcrdma/report/series.h>

namespace rpcrdma::report {

// Limits. Latencies on further connections count by the addresses of client and server, those of
// further addresses all together, those of further procedures only in the row's distribution.
inline constexpr std::size_t kMaxLatencyConnections = 512;
inline constexpr std::size_t kMaxLatencyPairs = 256;
inline constexpr std::size_t kMaxLatencyProcedures = 64;  // of a row
inline constexpr std::size_t kMaxConnectionSeries = 16;
inline constexpr std::size_t kMaxProcedureSeries = 32;

// What a row needs of one procedure, to compare the row with others.
struct ProcedureLatency {
  ProcedureKey procedure;  // `reverse` is false: that of the row holds
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
};

struct LatencyRow {
  base::CompactHistogram total;
  // The procedures with the lowest keys, and by key: then it does not matter how reports are
  // grouped for a merge.
  std::vector<ProcedureLatency> procedures;

  void sort();  // after reading `procedures`
  void add(ProcedureKey procedure, std::int64_t latency_ns);
  void merge(const LatencyRow& other);
  [[nodiscard]] bool empty() const { return total.count() == 0; }
};

// The latencies of the Calls that were answered in a bin, by latency_bucket().
struct LatencyBin {
  std::array<std::uint32_t, kLatencyBuckets> counts{};

  void add(std::int64_t latency_ns) { ++counts[latency_bucket(latency_ns)]; }
  void join(const LatencyBin& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  }
  friend bool operator==(const LatencyBin&, const LatencyBin&) = default;
};
using LatencySeries = Series<LatencyBin>;

// Arrays by direction: 0 forward, 1 reverse.
struct ConnectionLatency {
  std::uint32_t connection = 0;  // its ID; 0: see Latencies::pairs
  std::string client, server;    // only of pairs
  std::array<LatencyRow, 2> direction;
  LatencySeries series;  // of both directions; only the first kMaxConnectionSeries
};

// How much data a Call and its Reply carried: the bytes that moved through chunks; without chunks,
// the longer of the two messages.
enum class SizeClass : std::uint8_t { k4KiB, k64KiB, k256KiB, k1MiB, kMore, kUnknown };
inline constexpr std::size_t kSizeClasses = 6;
[[nodiscard]] SizeClass size_class(std::uint64_t bytes);
[[nodiscard]] const char* size_class_name(SizeClass size);  // "up to 4 KiB", ..., "unknown"

struct ProcedureSeries {
  ProcedureKey procedure;
  LatencySeries series;
};

struct Latencies {
  std::vector<ConnectionLatency> connections;  // in the order of their first answered Calls
  // Connections without an entry of their own, in the order of their addresses. Those beyond
  // kMaxLatencyPairs have an entry without addresses, the last.
  std::vector<ConnectionLatency> pairs;
  std::array<std::array<base::CompactHistogram, kSizeClasses>, 2> sizes;  // by direction
  // The procedures with the lowest keys, and by key: then it does not matter how reports are
  // grouped for a merge.
  std::vector<ProcedureSeries> procedures;

  ConnectionLatency& pair(const std::string& client, const std::string& server);
  // The series of a procedure; null: there are kMaxProcedureSeries with lower keys.
  LatencySeries* series(const ProcedureKey& procedure);
};

}  // namespace rpcrdma::report
