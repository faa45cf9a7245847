// Names that both formats use.
#pragma once

#include <string>

#include <rpcrdma/model/call.h>
#include <rpcrdma/roce/connection.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::timeline {

// The direction of a message, or of credits.
[[nodiscard]] constexpr const char* direction_name(bool reverse) {
  return reverse ? "reverse" : "forward";
}

// "replied", "rdma_error", "superseded", "connection_closed", "forgotten".
[[nodiscard]] const char* ending_name(model::Ending ending);

// Returns "ok", an NFS status, the reason why the RPC failed, or the name of an RDMA_ERROR; empty
// if unknown. `answer` may be null.
[[nodiscard]] std::string outcome(const model::Message* answer);

// Returns the final state of a connection: "closed", "rejected", or "open" if the capture ended
// first.
[[nodiscard]] const char* last_state(const roce::Connection& connection);

// "PSN Sequence Error", ..., "RNR".
[[nodiscard]] const char* refusal_name(const wire::Aeth& aeth);

// The parts of the latency of a Call with operations, in nanoseconds: from the Call to the first
// operation, to the end of the last one, and to the answer.
struct Parts {
  std::int64_t before_ns = 0;
  std::int64_t operations_ns = 0;
  std::int64_t after_ns = 0;
};
// Returns false if the Call has no operations or no answer.
[[nodiscard]] bool parts_of(const model::Call& call, const model::Message* answer, Parts& parts);

}  // namespace rpcrdma::timeline
