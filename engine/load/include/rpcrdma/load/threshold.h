// Limits that a load is to keep, such as "p99=200us" or "errors=0". A Call that was not answered
// right counts as having taken longer than anything: a server that is gone must not look like a
// fast one.
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
  std::uint64_t abandoned = 0;  // outstanding at the end
};

class Thresholds {
 public:
  // p50, p90, p99, p999, p9999, mean or max, and a duration with its unit; errors, mismatches or
  // not_begun, and a number. Error: kBadArgument.
  [[nodiscard]] fabric::Expected<void> add(std::string_view text);

  // Where no limit for errors was given: none are allowed.
  void allow_no_errors();

  // One clause for each limit that was passed: "p99 is 512 us, above 200 us". A latency that is not
  // known, since no Call was answered, passes every limit; so does one that belongs to a Call that
  // was not answered right, and mean and max if there is any such.
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
