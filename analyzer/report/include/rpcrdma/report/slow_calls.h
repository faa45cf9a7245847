// The Calls with the highest latency.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::report {

struct SlowCall {
  std::int64_t latency_ns = 0;  // from Call to Reply at the capture point
  std::uint64_t frame = 0;      // of the Call
  std::uint64_t reply_frame = 0;
  std::int64_t time_ns = 0;  // of the Call
  std::uint32_t xid = 0;
  std::uint32_t connection = 0;  // its ID
  bool reverse = false;
  std::string label;  // of the procedure
  // The parts of the latency; -1 if no RDMA operation was seen.
  std::int64_t before_data_ns = -1;
  std::int64_t data_ns = -1;
  std::int64_t after_data_ns = -1;
};

// Sorted by descending latency; equal latencies by frame. Therefore the merged lists of two parts
// of a capture equal the list of the whole.
class SlowCalls {
 public:
  explicit SlowCalls(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] bool wants(std::int64_t latency_ns, std::uint64_t frame) const {
    return list_.size() < limit_ || latency_ns > list_.back().latency_ns ||
           (latency_ns == list_.back().latency_ns && frame < list_.back().frame);
  }
  void offer(const SlowCall& call);
  void merge(const SlowCalls& other);

  [[nodiscard]] const std::vector<SlowCall>& list() const { return list_; }
  // For renumbering frames and connections. Callers must not change the order.
  [[nodiscard]] std::vector<SlowCall>& list() { return list_; }

 private:
  std::size_t limit_;
  std::vector<SlowCall> list_;
};

}  // namespace rpcrdma::report
