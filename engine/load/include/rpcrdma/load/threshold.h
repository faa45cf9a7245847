// Limits that a load must keep, such as "p99=200us" or "errors=0". A Call without a correct answer
// counts as having taken infinitely long: a dead server must not look like a fast one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/load/tally.h>

namespace rpcrdma::load {

// Calls that are in no tally, since they have no outcome.
struct Unanswered {
  std::uint64_t not_begun = 0;  // that were due
  std::uint64_t abandoned = 0;  // in flight at the end
};

class Thresholds {
 public:
  // p50, p90, p95, p99, p99.9 (or p999), p99.99 (or p9999), mean or max, and a duration with its
  // unit; errors, mismatches or not_begun, and a number. Error: kBadArgument.
  [[nodiscard]] fabric::Expected<void> add(std::string_view text);

  // Allows no errors unless a limit for them was given.
  void allow_no_errors();

  // One clause for each limit that was exceeded: "p99 is 512 us, above 200 us". A latency that is
  // unknown because no Call was answered exceeds every limit; so does a quantile that falls on a
  // Call without a correct answer, and mean and max if there is any such Call.
  [[nodiscard]] std::vector<std::string> passed(const Tally& tally,
                                                const Unanswered& unanswered = {}) const;

 private:
  struct Limit {
    std::size_t measure = 0;
    std::uint64_t most = 0;  // nanoseconds, or a number
  };
  std::vector<Limit> limits_;
};

}  // namespace rpcrdma::load
