// Reads a fuzzer's commands from the bytes of its input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  // Returns 0 after the end.
  std::uint8_t byte() {
    const wire::Bytes one = take(1);
    return one.empty() ? std::uint8_t{0} : one[0];
  }
  // Returns up to `n` bytes, as many as are left.
  wire::Bytes take(std::size_t n) {
    const wire::Bytes taken = rest_.first(std::min(n, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  wire::Bytes rest_;
};

}  // namespace rpcrdma::fuzz
