// The numbers of an adapter's queue pairs. They do not follow from one another, so that nobody can
// name a queue pair whose number it has not received. The low bits of a number are its label, which
// finds the queue pair's slot in one step.
#pragma once

#include "cm/cm_messages.h"

#include <cstdint>
#include <vector>

#include <rpcrdma/soft/secret.h>
#include <rpcrdma/soft/share.h>

namespace rpcrdma::soft {

class QpNumbers {
 public:
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;
  static constexpr std::uint32_t kLabels = 1U << kQpnIndexBits;

  QpNumbers(const Secret& secret, std::uint8_t share)
      : order_(secret, kForQpns, (kQpnIndexBits + kQpnGenerationBits) / 2), share_(share) {}

  // Returns a number for the queue pair in this slot. Linux's connection manager remembers QPNs for
  // a while after their end, and rejects a new connection that uses one as stale. So a number comes
  // again only after all others. Fewer than kLabels - 2 must be in use. May throw std::bad_alloc.
  [[nodiscard]] std::uint32_t take(std::uint32_t slot) {
    if (slots_.empty()) slots_.resize(kLabels);
    for (;;) {
      const std::uint32_t number = order_(counter_++ & kNumbers);
      const std::uint32_t label = number & kLabelMask;
      const std::uint32_t qpn =
          (number >> kQpnIndexBits << kShareBits | share_) << kQpnIndexBits | label;
      if (slots_[label] != 0 || !cm_qpn_good(qpn)) continue;
      slots_[label] = static_cast<std::uint16_t>(slot + 1);
      return qpn;
    }
  }
  void give_back(std::uint32_t qpn) { slots_[qpn & kLabelMask] = 0; }

  // The slot of the queue pair with this label, whatever the rest of its number; kNoSlot: none.
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t qpn) const {
    return slots_.empty() ? kNoSlot : slots_[qpn & kLabelMask] - 1U;
  }

 private:
  static constexpr std::uint32_t kLabelMask = kLabels - 1;
  static constexpr std::uint32_t kNumbers = (1U << (kQpnIndexBits + kQpnGenerationBits)) - 1;

  SecretPermutation order_;
  std::uint32_t share_;
  std::uint32_t counter_ = 0;
  std::vector<std::uint16_t> slots_;  // by label: slot + 1; 0: free
};

}  // namespace rpcrdma::soft
