// Builds a FirstCall from a Call of the model.
#pragma once

#include <rpcrdma/model/model.h>
#include <rpcrdma/rules/sent_again.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::rules {

// `forward`: the Call is of the RPC client.
[[nodiscard]] inline FirstCall first_call(const model::Call& call, bool forward) {
  // With RPCSEC_GSS each Call has a new sequence number, even a resent one.
  constexpr auto kGss = static_cast<std::uint32_t>(wire::AuthFlavor::kRpcsecGss);
  const model::Message& m = call.message;
  FirstCall first;
  first.frame = m.frame;
  first.time_ns = m.time_ns;
  first.message = m.id;
  first.xid = m.xid;
  first.program = m.rpc.program;
  first.procedure = m.rpc.procedure;
  first.digest = call.digest;
  first.varies = m.suspect || m.rpc.cred_flavor == kGss;
  first.known = m.rpc.known;
  first.forward = forward;
  return first;
}

// Returns whether the capture ended before the connection.
[[nodiscard]] inline bool ends_with_capture(const roce::Connection& c) {
  return c.state < roce::State::kRejected && !c.evict;
}

}  // namespace rpcrdma::rules
