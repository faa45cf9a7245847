// Measures round-trip times by the acknowledgements of the receiving adapter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>
#include <rpcrdma/roce/psn.h>

namespace rpcrdma::model {

// Tracks the messages of one side, in the order in which they were sent.
class Arrivals {
 public:
  // Called for a message whose last packet has this PSN and requests an acknowledgement; an adapter
  // may defer any other acknowledgement indefinitely. `call`: generation 0 if the message is not a
  // Call.
  void sent(std::uint32_t psn, std::int64_t time_ns, CallRef call) {
    if (sent_.size() - first_ == kKept) ++first_;
    if (first_ == kKept) {
      sent_.erase(sent_.begin(), sent_.begin() + kKept);
      first_ = 0;
    }
    sent_.push_back({psn, time_ns, call});
  }

  // Called when everything up to `psn` has arrived: calls `arrived(call, round_trip_ns)` for each
  // Call. One acknowledgement may cover several messages; it is then as recent as the last of them,
  // so the time since that message counts for all. If it is for something sent after them, their
  // time is unknown.
  template <typename Function>
  void acknowledged(std::uint32_t psn, std::int64_t time_ns, Function&& arrived) {
    std::size_t end = first_;
    while (end != sent_.size() && roce::psn_diff(psn, sent_[end].psn) >= 0) ++end;
    if (end == first_) return;
    const Sent& last = sent_[end - 1];
    const std::int64_t took = time_ns - last.time_ns;
    if (last.psn == psn && took >= 0) {
      usual_ns_ = usual_ns_ < 0 ? took : usual_ns_ + (took - usual_ns_) / 8;
      for (std::size_t i = first_; i != end; ++i) {
        if (sent_[i].call.generation != 0) arrived(sent_[i].call, took);
      }
    }
    first_ = end;
    if (first_ != sent_.size()) return;
    sent_.clear();
    first_ = 0;
  }

  // The recent round-trip time, smoothed; -1: unknown.
  [[nodiscard]] std::int64_t usual_ns() const { return usual_ns_; }

 private:
  static constexpr std::size_t kKept = 64;  // reached if only one direction is captured
  struct Sent {
    std::uint32_t psn = 0;
    std::int64_t time_ns = 0;
    CallRef call;
  };
  std::vector<Sent> sent_;
  std::int64_t usual_ns_ = -1;
  std::size_t first_ = 0;  // earlier entries are finished
};

}  // namespace rpcrdma::model
