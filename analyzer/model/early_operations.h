// RDMA operations that a capture shows before the Call that offers their memory. A responder learns
// of that memory by the Call alone, so the two directions are out of order there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/model/call.h>
#include <rpcrdma/roce/operation.h>

namespace rpcrdma::model {

// Of the memory of one side. Messages are counted by Message::id.
class EarlyOperations {
 public:
  // An operation on memory that no outstanding Call offers, when `message` was to come next.
  void unmatched(const roce::Operation& op, std::uint64_t message);
  // A Call is over: an operation on its memory is late, not early, though another Call may offer
  // the same memory next.
  void ended(const Call& call);
  // Whether a Call that is new offers what such an operation was for.
  [[nodiscard]] bool offered_late(const Call& call);

 private:
  static constexpr std::size_t kUnmatched = 8, kEnded = 32;
  // What is further apart than this is out of order by more than a capture is.
  static constexpr std::uint64_t kMessages = 32;
  struct UnmatchedOperation {
    roce::OpKind kind = roce::OpKind::kWrite;
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;
    std::uint64_t message = 0;
  };

  std::vector<UnmatchedOperation> unmatched_;  // on most connections there is none
  std::vector<wire::Segment> ended_;
  std::size_t next_unmatched_ = 0, next_ended_ = 0;
};

}  // namespace rpcrdma::model
