// Limits log lines that a peer can cause to a number per second, and counts the lines left out.
#pragma once

#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::cli {

class LineLimit {
 public:
  explicit LineLimit(std::uint32_t lines) : lines_(lines) {}

  // Returns whether a second is over: report what was left out in it before may_print() resets the
  // count.
  [[nodiscard]] bool starts_new_interval(fabric::Time now) const {
    return begun_ == fabric::kNever || now - begun_ >= fabric::kSecond;
  }
  // Returns false if the line must be left out.
  [[nodiscard]] bool may_print(fabric::Time now) {
    if (starts_new_interval(now)) {
      begun_ = now;
      printed_ = left_out_ = 0;
    }
    const bool may = printed_ < lines_;
    ++(may ? printed_ : left_out_);
    return may;
  }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  std::uint64_t lines_;
  fabric::Time begun_ = fabric::kNever;
  std::uint64_t printed_ = 0, left_out_ = 0;  // in the current second
};

}  // namespace rpcrdma::cli
