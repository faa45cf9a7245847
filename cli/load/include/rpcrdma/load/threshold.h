// Limits that a load is to keep, such as "p99=200us" or "errors=0".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/load/tally.h>

namespace rpcrdma::load {

class Thresholds {
 public:
  // p50, p90, p99, p999, p9999, mean or max, and a duration with its unit; errors or mismatches,
  // and a number. Error: kBadArgument.
  [[nodiscard]] fabric::Expected<void> add(std::string_view text);

  // One clause for each limit that was passed: "p99 is 512 us, above 200 us". A latency that is not
  // known, since no Call was answered, passes every limit.
  [[nodiscard]] std::vector<std::string> passed(const Tally& tally) const;

 private:
  struct Limit {
    std::size_t measure = 0;
    std::uint64_t most = 0;  // nanoseconds, or a number
  };
  std::vector<Limit> limits_;
};

}  // namespace rpcrdma::load
