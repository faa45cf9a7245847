// Translates work requests and completions between the fabric's types and those of the verbs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <infiniband/verbs.h>

#include <rpcrdma/fabric/work.h>

namespace rpcrdma::verbs {

using Sges = std::array<ibv_sge, fabric::kMaxSlices>;

// Identifies the work of a completion: a connection's name, the queue, and the place in it.
struct WorkName {
  std::uint32_t connection = 0;
  bool receive = false;
  std::uint32_t place = 0;  // the lower 31 bits of a number that counts work requests

  [[nodiscard]] std::uint64_t encode() const {
    return std::uint64_t{connection} << 32U | (receive ? 1ULL << 31U : 0) | (place & kPlaceMask);
  }
  [[nodiscard]] static WorkName decode(std::uint64_t id) {
    return {static_cast<std::uint32_t>(id >> 32U), (id >> 31U & 1U) != 0,
            static_cast<std::uint32_t>(id) & kPlaceMask};
  }
  // Returns the whole number, at least `begin`.
  [[nodiscard]] std::uint64_t from(std::uint64_t begin) const {
    return begin + ((place - static_cast<std::uint32_t>(begin)) & kPlaceMask);
  }
  static constexpr std::uint32_t kPlaceMask = 0x7fffffff;
};

[[nodiscard]] std::uint32_t length_of(std::span<const fabric::Slice> slices);  // bytes; saturates
// Returns how many elements it filled; empty slices need none.
[[nodiscard]] int translate(std::span<const fabric::Slice> slices, Sges& sges);

// Translates all but the ID and `next`. Up to `most_inline` bytes are copied into the work request
// itself.
void translate(const fabric::SendRequest& request, std::uint32_t most_inline, ibv_send_wr& work,
               Sges& sges);

[[nodiscard]] fabric::Status translate(ibv_wc_status status);
// Translates a successful Receive's completion, except for its ID and status. `kernel_flags`: as in
// Abilities.
void translate_received(const ibv_wc& from, bool kernel_flags, fabric::Completion& to);

}  // namespace rpcrdma::verbs
