// Reads back what a comparison of loads needs of `load --json`. The text is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/load/latency_bins.h>

namespace rpcrdma::load {

struct ReadProcedure {
  std::uint32_t number = 0;  // of the program ECHO
  std::uint64_t calls = 0;
  base::Histogram latency;  // of Calls with a correct answer, nanoseconds
  // Likewise, by when they ended: at most LatencyBins::kMost bins, counted from the first.
  std::vector<LatencyBins::Counts> over_time;
};

struct ReadReport {
  double seconds = 0;
  std::vector<ReadProcedure> procedures;  // each once
};

// The error is one clause for display.
[[nodiscard]] tl::expected<ReadReport, std::string> read_json(std::string_view text);

}  // namespace rpcrdma::load
