// What the text and the JSON of the whole share.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::load_ranks {

// Counts the ranks that called.
[[nodiscard]] std::size_t hosts_of(const Results& results);
[[nodiscard]] std::size_t ranks_of(const Results& results);
[[nodiscard]] std::size_t rows_of(const Whole& whole);

// Whether a bucket of the latency's histogram, which has 32 bits, is full.
[[nodiscard]] bool histogram_full(const Results& results);

[[nodiscard]] std::string count_text(std::uint64_t n, const char* one, const char* several);

}  // namespace rpcrdma::load_ranks
