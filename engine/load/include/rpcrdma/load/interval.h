// What a load did in one interval, such as a second: as a JSON object and as a line.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/hdr_histogram.h>

namespace rpcrdma::load {

struct Interval {
  std::uint64_t calls = 0;        // with a correct answer
  std::uint64_t errors = 0;       // Calls that failed or had wrong data
  std::uint64_t bytes = 0;        // of data, in both directions
  HdrHistogram latency;           // of Calls with a correct answer
  std::uint32_t credits = 0;      // granted at the end, on all connections
  std::uint32_t connections = 0;  // established at the end

  // Adds what another thread did.
  void merge(const Interval& other);
};

struct IntervalTime {
  fabric::Time epoch = 0;    // its end: nanoseconds since the epoch,
  fabric::Time elapsed = 0;  // and since the load began
  fabric::Time length = 0;
};

// One object without newline; docs/load.md describes the keys.
[[nodiscard]] std::string interval_json(const Interval& interval, const IntervalTime& time);
// "3.0 s: 4837 calls/s, 19.8 MB/s, 0 failed, p50 84.2 us, p99 200 us, max 1.2 ms", no newline.
[[nodiscard]] std::string interval_line(const Interval& interval, const IntervalTime& time);

}  // namespace rpcrdma::load
