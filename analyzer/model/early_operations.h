// Finds RDMA operations that a capture shows before the Call that advertises their memory. A
// responder learns of that memory only from the Call, so the capture shows the two directions out
// of order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>
#include <rpcrdma/roce/operation.h>

namespace rpcrdma::model {

// Tracks operations on the memory of one side. Messages are counted by Message::id.
class EarlyOperations {
 public:
  // Called for an operation on memory that no in-flight Call advertises, when `message` was to come
  // next.
  void unmatched(const roce::Operation& op, std::uint64_t message);
  // Called when a Call has ended: an operation on its memory is late, not early, even if another
  // Call advertises the same memory next.
  void ended(const Call& call);
  // Returns whether a new Call advertises the memory of such an operation.
  [[nodiscard]] bool offered_late(const Call& call);

 private:
  static constexpr std::size_t kUnmatched = 8, kEnded = 32;
  // The most messages between an early operation and its Call; captures do not reorder further.
  static constexpr std::uint64_t kMessages = 32;
  struct UnmatchedOperation {
    roce::OpKind kind = roce::OpKind::kWrite;
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;
    std::uint64_t message = 0;
  };

  std::vector<UnmatchedOperation> unmatched_;  // empty on most connections
  std::vector<wire::Segment> ended_;
  std::size_t next_unmatched_ = 0, next_ended_ = 0;
};

}  // namespace rpcrdma::model
