#include "call_reduction.h"

namespace rpcrdma::decode {

CallReduction::CallReduction(std::span<const Removed> removed, std::uint32_t padded_from)
    : removed_(removed), padded_from_(padded_from) {
  drop_empty();
  removes_nothing_ = removed_.empty() && padded_from_ == kNotPadded;
}

bool CallReduction::is_removed(std::size_t count_offset, std::uint32_t length,
                               bool /*ddp_eligible*/) {
  const std::size_t data = count_offset + 4;
  const bool found = !removed_.empty() && removed_.front().offset == data;
  while (!removed_.empty() && removed_.front().offset == data) {
    removed_ = removed_.subspan(1);
    drop_empty();
  }
  met_padding_ |= !found && length >= padded_from_;
  return found;
}

// A chunk without bytes removed nothing.
void CallReduction::drop_empty() {
  while (!removed_.empty() && removed_.front().length == 0) removed_ = removed_.subspan(1);
}

}  // namespace rpcrdma::decode
