#include <rpcrdma/report/series.h>

namespace rpcrdma::report {

void TrafficBin::join(const TrafficBin& other) {
  calls += other.calls;
  replies += other.replies;
  errors += other.errors;
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  inline_bytes += other.inline_bytes;
  retransmitted += other.retransmitted;
  naks += other.naks;
  rnrs += other.rnrs;
  ce += other.ce;
  cnps += other.cnps;
  pauses += other.pauses;
  outstanding_max = std::max(outstanding_max, other.outstanding_max);
  latency_count += other.latency_count;
  latency_sum += other.latency_sum;
  latency_max = std::max(latency_max, other.latency_max);
  for (std::size_t i = 0; i < latency.size(); ++i) latency[i] += other.latency[i];
}

std::int64_t TrafficBin::latency_quantile(double q) const {
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(latency_count);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i + 1 < latency.size(); ++i) {
    seen += latency[i];
    if (seen != 0 && static_cast<double>(seen) >= wanted) {
      return std::min(latency_max, std::int64_t{1024} << i);
    }
  }
  return latency_max;
}

}  // namespace rpcrdma::report
