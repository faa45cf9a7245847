// What one thread of a load did in each second since the common start. Kept by when each Call
// ended, not by when somebody asked, so that the seconds of all threads and ranks are the same in
// time.
#pragma once

#include <cstdint>

#include <rpcrdma/base/histogram.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/hdr_histogram.h>
#include <rpcrdma/load/tally.h>
#include <rpcrdma/load_ranks/series.h>

namespace rpcrdma::cli {

class OverTime {
 public:
  // `since_first`: of `start` since the start of the first round.
  void begin(fabric::Time start, fabric::Time since_first);
  void add(const load::Sample& sample);
  // Call before the following.
  void end();

  [[nodiscard]] const load_ranks::Series& series() const { return series_; }
  [[nodiscard]] const load_ranks::LatencySeries& latency() const { return latency_; }
  [[nodiscard]] const load::HdrHistogram& whole() const { return whole_; }

 private:
  // Adds the present second to the series.
  void close_second();

  fabric::Time start_ = 0, since_first_ = 0;
  fabric::Time second_ends_ = 0;  // the present second
  load_ranks::Window now_;
  base::Histogram now_latency_;
  load_ranks::Series series_;
  load_ranks::LatencySeries latency_;
  load::HdrHistogram whole_;
};

}  // namespace rpcrdma::cli
