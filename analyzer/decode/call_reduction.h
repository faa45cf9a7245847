// The data that is missing from a Call's reduced stream.
#pragma once

#include "xdr_shape.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::decode {

// Tracks the data that a Call's Read chunks removed. Which items may be removed is a rule to check,
// not one to parse by: any counted opaque counts as removed if its data begins where data is
// missing.
class CallReduction final : public Reduction {
 public:
  explicit CallReduction(std::span<const Removed> removed, std::uint32_t padded_from = kNotPadded);

  bool is_removed(std::size_t count_offset, std::uint32_t length, bool ddp_eligible) override;

  // True if data other than an opaque's is missing before `offset`: the bytes read are not what was
  // sent.
  [[nodiscard]] bool has_passed_unseen(std::size_t offset) const {
    return !removed_.empty() && removed_.front().offset < offset;
  }

  // True after an opaque that may have padding in front of it: the rest is not certain.
  [[nodiscard]] bool has_met_padding() const { return met_padding_; }

 private:
  void drop_empty();

  std::span<const Removed> removed_;  // those not reached yet
  std::uint32_t padded_from_;
  bool met_padding_ = false;
};

}  // namespace rpcrdma::decode
