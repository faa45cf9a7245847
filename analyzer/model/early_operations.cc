#include "early_operations.h"

#include <algorithm>

namespace rpcrdma::model {

namespace {

bool begins_in(std::uint32_t handle, std::uint64_t offset, const wire::Segment& memory) {
  return handle == memory.handle && offset - memory.offset < memory.length;
}

// Adds to a ring of at most `most` entries.
template <typename T>
void put(std::vector<T>& ring, std::size_t& next, std::size_t most, const T& value) {
  if (ring.size() < most) {
    ring.push_back(value);
    return;
  }
  ring[next] = value;
  next = (next + 1) % most;
}

}  // namespace

void EarlyOperations::unmatched(const roce::Operation& op, std::uint64_t message) {
  const auto of_it = [&](const wire::Segment& s) { return begins_in(op.handle, op.offset, s); };
  if (std::any_of(ended_.begin(), ended_.end(), of_it)) return;
  put(unmatched_, next_unmatched_, kUnmatched, {op.kind, op.handle, op.offset, message});
}

void EarlyOperations::ended(const Call& call) {
  // For a Call with very many segments, the last ones suffice.
  const std::size_t n = call.segments.size();
  for (std::size_t i = n > kEnded ? n - kEnded : 0; i < n; ++i) {
    put(ended_, next_ended_, kEnded, call.segments[i].target);
  }
}

bool EarlyOperations::offered_late(const Call& call) {
  if (unmatched_.empty()) return false;
  return std::any_of(
      unmatched_.begin(), unmatched_.end(), [&](const UnmatchedOperation& unmatched) {
        if (call.message.id - unmatched.message > kMessages) return false;
        return std::any_of(call.segments.begin(), call.segments.end(), [&](const CallSegment& s) {
          return (unmatched.kind == roce::OpKind::kRead) == (s.list == ChunkList::kRead) &&
                 begins_in(unmatched.handle, unmatched.offset, s.target);
        });
      });
}

}  // namespace rpcrdma::model
