// The fields of a completion's id: which part of the endpoint posted the work, in which of its
// slots, for which use (generation) of that slot, so that a late completion is not mistaken for its
// successor's, and which part of it.
#pragma once

#include <cstdint>

namespace rpcrdma::protocol {

enum class WorkKind : std::uint8_t {
  kReceive = 1,
  kCallSend,  // the requester's
  kAdvertise,
  kFence,      // a handle is invalidated
  kRead,       // the responder's: of a Call's Read chunks
  kWrite,      // into a Write chunk or the Reply chunk
  kReplySend,  // of a Reply or an RDMA_ERROR
  kProbe,
  kReplyFence,  // the responder's: a handle of a Reply's Read chunk is invalidated
  kReplyRead,   // the requester's: of a Reply's Read chunks
  kDoneSend     // of the RDMA_DONE for those
};

struct WorkId {
  WorkKind kind = WorkKind::kReceive;
  std::uint32_t slot = 0;        // 20 bits
  std::uint32_t generation = 0;  // 28 bits
  // kFence: which segment's handle; kRead, kWrite: which of the Call's operations. 12 bits.
  std::uint16_t part = 0;

  static constexpr std::uint32_t kParts = 1U << 12U;

  [[nodiscard]] constexpr std::uint64_t encode() const {
    return std::uint64_t{static_cast<std::uint8_t>(kind)} << 60U | std::uint64_t{part} << 48U |
           std::uint64_t{slot} << 28U | generation;
  }
  [[nodiscard]] static constexpr WorkId decode(std::uint64_t id) {
    return {static_cast<WorkKind>(id >> 60U), static_cast<std::uint32_t>(id >> 28U) & 0xfffffU,
            static_cast<std::uint32_t>(id) & 0xfffffffU,
            static_cast<std::uint16_t>((id >> 48U) & (kParts - 1))};
  }
};

}  // namespace rpcrdma::protocol
