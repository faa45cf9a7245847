// The data that is missing from a Reply's reduced stream.
#pragma once

#include "xdr_shape.h"

#include <cstdint>
#include <span>

#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {

// Write chunks in order hold the data of the DDP-eligible items in order.
class WrittenChunks final : public Reduction {
 public:
  explicit WrittenChunks(std::span<const std::uint64_t> lengths) : lengths_(lengths) {
    removes_nothing_ = lengths_.empty();
  }

  bool is_removed(std::size_t /*count_offset*/, std::uint32_t length, bool ddp_eligible) override {
    if (!ddp_eligible || lengths_.empty()) return false;
    const bool removed = lengths_.front() != 0;
    lengths_ = lengths_.subspan(1);
    removes_nothing_ = lengths_.empty();
    if (removed) roundup_ = static_cast<std::uint32_t>(wire::xdr_padded(length) - length);
    return removed;
  }
  void begin_operation() { roundup_ = 0; }
  [[nodiscard]] std::uint32_t roundup() const { return roundup_; }

 private:
  std::span<const std::uint64_t> lengths_;
  std::uint32_t roundup_ = 0;
};

}  // namespace rpcrdma::decode
