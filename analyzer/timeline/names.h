// Words that both formats use.
#pragma once

#include <string>

#include <rpcrdma/model/call.h>
#include <rpcrdma/roce/connection.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::timeline {

// Of what `reverse` says: a message or its connection's credits.
[[nodiscard]] constexpr const char* direction_name(bool reverse) {
  return reverse ? "reverse" : "forward";
}

// "replied", "rdma_error", "superseded", "connection_closed", "forgotten".
[[nodiscard]] const char* ending_name(model::Ending ending);

// "ok", an NFS status, why the RPC failed, or the name of an RDMA_ERROR; empty when nothing is
// known. `answer` may be null.
[[nodiscard]] std::string outcome(const model::Message* answer);

// Of a connection that is over: "closed", "rejected", or "open" where only the capture ended.
[[nodiscard]] const char* last_state(const roce::Connection& connection);

// "PSN Sequence Error", ..., "RNR".
[[nodiscard]] const char* refusal_name(const wire::Aeth& aeth);

// Of a Call with operations, nanoseconds: from the Call to the first of them, while they went on,
// and from the last to the answer.
struct Parts {
  std::int64_t before_ns = 0;
  std::int64_t operations_ns = 0;
  std::int64_t after_ns = 0;
};
// False: it had none, or no answer.
[[nodiscard]] bool parts_of(const model::Call& call, const model::Message* answer, Parts& parts);

}  // namespace rpcrdma::timeline
