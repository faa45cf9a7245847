// How long messages were on their way, by the acknowledgements of the adapter that they went to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>
#include <rpcrdma/roce/psn.h>

namespace rpcrdma::model {

// Of one side's messages, in the order in which they were sent.
class Arrivals {
 public:
  // One whose last packet has this PSN and asks to be acknowledged: an adapter may put off any
  // other acknowledgement as long as it likes. `call`: generation 0 where it is none.
  void sent(std::uint32_t psn, std::int64_t time_ns, CallRef call) {
    if (sent_.size() - first_ == kKept) ++first_;
    if (first_ == kKept) {
      sent_.erase(sent_.begin(), sent_.begin() + kKept);
      first_ = 0;
    }
    sent_.push_back({psn, time_ns, call});
  }

  // All up to `psn` has arrived: calls `arrived(call, there_and_back_ns)` for each
  // Call. One acknowledgement may be for several messages, and is then as old as the last of them
  // is: the time since that one is what they all took. Where it is for something else that came
  // behind them, nothing is known of them.
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

  // What it took lately, smoothed; -1: not known.
  [[nodiscard]] std::int64_t usual_ns() const { return usual_ns_; }

 private:
  static constexpr std::size_t kKept = 64;  // in a capture of one direction, all wait in vain
  struct Sent {
    std::uint32_t psn = 0;
    std::int64_t time_ns = 0;
    CallRef call;
  };
  std::vector<Sent> sent_;
  std::int64_t usual_ns_ = -1;
  std::size_t first_ = 0;  // those before it are done with
};

}  // namespace rpcrdma::model
