#include "names.h"

#include <rpcrdma/report/context.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::timeline {

const char* ending_name(model::Ending ending) {
  switch (ending) {
    case model::Ending::kReplied:
      return "replied";
    case model::Ending::kError:
      return "rdma_error";
    case model::Ending::kSuperseded:
      return "superseded";
    case model::Ending::kClosed:
      return "connection_closed";
    case model::Ending::kForgotten:
      return "forgotten";
  }
  return "forgotten";
}

std::string outcome(const model::Message* answer) {
  if (answer == nullptr) return {};
  if (answer->kind == model::Kind::kMalformed) return "malformed RDMA_ERROR";
  if (answer->kind != model::Kind::kError) return report::reply_status(answer->rpc);
  return wire::rdma_err_name(answer->version, static_cast<std::uint32_t>(answer->error));
}

const char* last_state(const roce::Connection& connection) {
  switch (connection.state) {
    case roce::State::kRejected:
      return "rejected";
    case roce::State::kClosed:
      return "closed";
    case roce::State::kOpening:
      return "opening";
    case roce::State::kOpen:
      return "open";
  }
  return "open";
}

const char* refusal_name(const wire::Aeth& aeth) {
  return aeth.is_rnr() ? "RNR" : wire::nak_name(aeth.value());
}

bool parts_of(const model::Call& call, const model::Message* answer, Parts& parts) {
  if (answer == nullptr || call.first_op_ns < 0 || call.last_op_ns < 0) return false;
  parts.before_ns = call.first_op_ns - call.message.time_ns;
  parts.operations_ns = call.last_op_ns - call.first_op_ns;
  parts.after_ns = answer->time_ns - call.last_op_ns;
  return true;
}

}  // namespace rpcrdma::timeline
