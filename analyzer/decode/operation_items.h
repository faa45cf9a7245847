// The items of single operations of a COMPOUND: nfs_items.h finds those of whole messages.
#pragma once

#include "call_reduction.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/decode/nfs_items.h>

namespace rpcrdma::decode {

// Holds the items of one operation until it is certain that they are what was sent.
class HeldItems final : public NfsItemSink {
 public:
  void item(const NfsItem& item) override {
    if (count_ < items_.size()) items_[count_++] = item;
  }
  void pass_to(NfsItemSink& sink) const {
    for (std::size_t i = 0; i < count_; ++i) sink.item(items_[i]);
  }
  void clear() { count_ = 0; }

 private:
  std::array<NfsItem, 4> items_;
  std::size_t count_ = 0;
};

// Reports the items in the arguments of operation `op`, which begin at `offset` in `args`. `index`:
// of the operation. `reduction`: as it is at the arguments.
void find_operation_items(std::uint32_t op, wire::Bytes args, std::size_t offset,
                          std::uint32_t index, const CallReduction& reduction, NfsItemSink& sink);

}  // namespace rpcrdma::decode
