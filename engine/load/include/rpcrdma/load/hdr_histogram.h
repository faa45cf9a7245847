// Latencies with three significant digits, and the two text formats that HdrHistogram's tools read:
// the percentile distribution (.hgrm) and the interval log (.hlog).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load {

// Counts values from 0 to an hour, in nanoseconds; longer ones count as an hour. A value is at most
// 0.1 % below the highest of its bucket. The memory grows with the largest value.
class HdrHistogram {
 public:
  void add(fabric::Time value);  // a negative value counts as 0
  void merge(const HdrHistogram& other);
  void clear();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Of the bucket of the largest value, the highest value; 0 if there is none.
  [[nodiscard]] std::uint64_t max() const;
  // Returns the highest value of the bucket in which the quantile `q` (0 to 1) lies.
  [[nodiscard]] std::uint64_t quantile(double q) const;

  // The non-empty buckets, lowest first, for storing a histogram.
  struct Bucket {
    std::uint32_t index = 0;
    std::uint64_t count = 0;
  };
  template <typename Function>
  void for_each_bucket(Function&& f) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) f(Bucket{static_cast<std::uint32_t>(i), counts_[i]});
    }
  }
  // Returns the highest value that counts in a bucket.
  [[nodiscard]] static std::uint64_t highest_of(std::size_t bucket);
  // Rebuilds a stored histogram; nothing if no histogram can have these buckets.
  [[nodiscard]] static std::optional<HdrHistogram> restore(std::span<const Bucket> buckets);

  // The percentile distribution in milliseconds, several lines.
  [[nodiscard]] std::string to_hgrm() const;
  // The compressed encoding, version 2, in base64.
  [[nodiscard]] std::string to_base64() const;

 private:
  [[nodiscard]] double mean() const;
  [[nodiscard]] double deviation() const;
  [[nodiscard]] std::vector<std::uint8_t> encode() const;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
};

// The lines before the first interval of a log. `start`: nanoseconds since the epoch.
[[nodiscard]] std::string hlog_header(fabric::Time start, const std::string& what);
// The line of one interval. `since_start`: its begin.
[[nodiscard]] std::string hlog_line(fabric::Time since_start, fabric::Time length,
                                    const HdrHistogram& histogram);

}  // namespace rpcrdma::load
