// Time series in bins. Memory is bounded, and the result does not depend on the order of additions.
//
// Bins are 2^k ns wide and start at multiples of 2^k ns since 1970. At most 256 bins cover the time
// from the first to the last event, and k is the smallest value that achieves this, so it depends
// only on these two times. When a time does not fit, k grows and pairs of bins are joined.
// Therefore the merged series of the parts of a capture equal the series of the whole.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace rpcrdma::report {

// Bin: a default-constructible value with `void join(const Bin&)`, which must be commutative and
// associative, and for which a default-constructed Bin changes nothing.
template <typename Bin>
class Series {
 public:
  static constexpr std::size_t kBins = 256;
  // About a millisecond: finer bins would split one burst into many.
  static constexpr unsigned kMinShift = 20;
  static constexpr unsigned kMaxShift = 62;

  [[nodiscard]] bool empty() const { return bins_.empty(); }
  // The width of a bin is 2^shift() ns.
  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] std::int64_t width_ns() const { return std::int64_t{1} << shift_; }
  // Bin n starts at n * width_ns(). Some of the bins first() to last() may be empty.
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t last() const { return last_; }
  [[nodiscard]] const Bin& bin(std::int64_t n) const { return bins_[slot(n)]; }

  // Returns the bin of a time (nanoseconds since 1970). Memory grows with the number of bins, by
  // powers of two.
  Bin& at(std::int64_t time_ns) {
    std::int64_t n = time_ns >> shift_;
    if (n < first_ || n > last_) {
      cover(n, n);
      n = time_ns >> shift_;
    }
    return bins_[slot(n)];
  }

  void merge(const Series& other) {
    if (other.empty()) return;
    coarsen(other.shift_);
    cover(other.first_ >> (shift_ - other.shift_), other.last_ >> (shift_ - other.shift_));
    const unsigned by = shift_ - other.shift_;
    for (std::int64_t n = other.first_; n <= other.last_; ++n) {
      bins_[slot(n >> by)].join(other.bin(n));
    }
  }

  // Returns the bin that covers bin `n` of width 2^shift ns, to restore a saved series bin by bin.
  // `shift` must be from kMinShift to kMaxShift.
  Bin& restore(unsigned shift, std::int64_t n) {
    coarsen(shift);
    return at(n * (std::int64_t{1} << shift));
  }

 private:
  static constexpr std::size_t kLeastBins = 8;

  [[nodiscard]] std::size_t slot(std::int64_t n) const {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(n) & mask_);
  }

  // Extends the series to the bins first to last of the current width, which may make bins wider.
  void cover(std::int64_t first, std::int64_t last) {
    if (!bins_.empty()) {
      first = std::min(first, first_);
      last = std::max(last, last_);
    }
    unsigned more = 0;
    while ((last >> more) - (first >> more) >= static_cast<std::int64_t>(kBins)) ++more;
    coarsen(shift_ + more);
    first >>= more;
    last >>= more;
    grow(static_cast<std::size_t>(last - first) + 1);
    first_ = first;
    last_ = last;
  }

  void grow(std::size_t bins) {
    if (bins <= bins_.size()) return;
    std::vector<Bin> larger(std::max(std::bit_ceil(bins), kLeastBins));
    const std::uint64_t mask = larger.size() - 1;
    for (std::int64_t n = first_; n <= last_; ++n) {
      larger[static_cast<std::size_t>(static_cast<std::uint64_t>(n) & mask)] = bins_[slot(n)];
    }
    bins_ = std::move(larger);
    mask_ = mask;
  }

  void coarsen(unsigned shift) {
    if (shift <= shift_) return;
    const unsigned by = shift - shift_;
    shift_ = shift;
    if (bins_.empty()) return;
    const std::vector<Bin> old = bins_;
    std::fill(bins_.begin(), bins_.end(), Bin{});
    for (std::int64_t n = first_; n <= last_; ++n) bins_[slot(n >> by)].join(old[slot(n)]);
    first_ >>= by;
    last_ >>= by;
  }

  unsigned shift_ = kMinShift;
  std::int64_t first_ = 0;
  std::int64_t last_ = -1;  // less than first_: the series is empty
  std::vector<Bin> bins_;   // bin n in slot n modulo their number, which is a power of two
  std::uint64_t mask_ = 0;  // their number less one
};

// Coarse latency buckets: bucket 0 counts latencies below 1,024 ns, bucket b those below
// 1,024 << b, the last bucket all others.
inline constexpr std::size_t kLatencyBuckets = 24;
[[nodiscard]] constexpr std::size_t latency_bucket(std::int64_t ns) {
  const auto width =
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)) >> 10);
  return std::min(static_cast<std::size_t>(width), kLatencyBuckets - 1);
}

// The traffic of all connections in a bin.
struct TrafficBin {
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;        // including those whose Call was not seen
  std::uint64_t errors = 0;         // RDMA_ERRORs, and Replies that report a failed RPC
  std::uint64_t read_bytes = 0;     // moved by RDMA Read for Calls in the capture
  std::uint64_t write_bytes = 0;    // by RDMA Write
  std::uint64_t inline_bytes = 0;   // of the SENDs
  std::uint64_t retransmitted = 0;  // packets
  std::uint64_t naks = 0;           // other than RNR
  std::uint64_t rnrs = 0;
  std::uint64_t ce = 0;  // packets marked CE
  std::uint64_t cnps = 0;
  std::uint64_t pauses = 0;           // pause frames
  std::uint64_t outstanding_max = 0;  // Calls in flight on all connections together
  // Nanoseconds, for the Calls that were answered in this bin.
  std::uint64_t latency_count = 0;
  std::uint64_t latency_sum = 0;
  std::int64_t latency_max = 0;
  std::array<std::uint64_t, kLatencyBuckets> latency{};  // by latency_bucket()

  void add_latency(std::int64_t ns) {
    ns = std::max<std::int64_t>(ns, 0);
    ++latency_count;
    latency_sum += static_cast<std::uint64_t>(ns);
    latency_max = std::max(latency_max, ns);
    ++latency[latency_bucket(ns)];
  }
  void join(const TrafficBin& other);
  // Returns the latency quantile `q` (0..1), at most twice too large; 0 without latencies.
  [[nodiscard]] std::int64_t latency_quantile(double q) const;
  friend bool operator==(const TrafficBin&, const TrafficBin&) = default;
};

// The credits of one direction of a connection in a bin. 0: not seen.
struct CreditBin {
  std::uint32_t requested_max = 0;
  std::uint32_t granted_min = 0;
  std::uint32_t granted_max = 0;
  std::uint32_t in_use_max = 0;  // Calls in flight
  bool granted = false;          // a Reply granted credits, possibly zero

  void request(std::uint32_t requested, std::uint32_t in_use) {
    requested_max = std::max(requested_max, requested);
    in_use_max = std::max(in_use_max, in_use);
  }
  void grant(std::uint32_t credits) { join({0, credits, credits, 0, true}); }
  void join(const CreditBin& other) {
    request(other.requested_max, other.in_use_max);
    granted_max = std::max(granted_max, other.granted_max);
    if (!other.granted) return;
    granted_min = granted ? std::min(granted_min, other.granted_min) : other.granted_min;
    granted = true;
  }
  friend bool operator==(const CreditBin&, const CreditBin&) = default;
};

using TrafficSeries = Series<TrafficBin>;
using CreditSeries = Series<CreditBin>;

}  // namespace rpcrdma::report
