// Builds FirstCalls from Calls of the model, and keeps those of connections without a known
// predecessor.
#pragma once

#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/connection.h>
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

class FirstCalls {
 public:
  // Called before the first Call of the client is noted. `departed`: how many connections of the
  // capture have ended; after kDeparted of them, none of an earlier capture is kept any more.
  void begin(const roce::Connection& connection, std::size_t client, std::size_t departed);
  // Returns whether more Calls of the connection are needed.
  bool called(std::uint32_t connection, const FirstCall& call);
  // Called when a filter excludes the Call in this frame.
  void leave_out(std::uint32_t connection, std::uint64_t frame);
  void drop(std::uint32_t connection);
  // Returns null if no Calls of the connection are kept.
  [[nodiscard]] Begun* find(std::uint32_t connection);

  [[nodiscard]] std::vector<Begun> list() const;
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  std::vector<Begun> begun_;                           // kBegun at most
  tsl::robin_map<std::uint32_t, std::size_t> places_;  // in begun_, by connection
  bool complete_ = true;
};

}  // namespace rpcrdma::rules
