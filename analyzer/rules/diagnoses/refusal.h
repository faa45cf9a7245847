// Answers that refuse their Call: by RPC-over-RDMA, by RPC, or for the minor version of NFSv4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/model/call.h>

namespace rpcrdma::rules {

enum class RefusedBy : std::uint8_t {
  kTransport,     // RDMA_ERROR
  kRpcProgram,    // accept_stat
  kRpcVersion,    // RPC_MISMATCH
  kRpcAuth,       // AUTH_ERROR
  kMinorVersion,  // NFS4ERR_MINOR_VERS_MISMATCH
};

struct Refusal {
  RefusedBy by = RefusedBy::kTransport;
  std::uint32_t code = 0;  // rdma_err, accept_stat, auth_stat

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Returns nothing if the Call was executed, or if the capture does not contain the Reply's header.
[[nodiscard]] std::optional<Refusal> refusal_of(const model::Message& answer);

// "ERR_CHUNK", "PROG_UNAVAIL", "AUTH_ERROR: AUTH_TOOWEAK"
[[nodiscard]] std::string refusal_name(const Refusal& refusal, const model::Message& answer);

// Returns the reason that the answer states: "the server supports versions 3 to 3 of program NFS";
// empty if it states none. `responder`: "server" or "client".
[[nodiscard]] std::string refusal_reason(const Refusal& refusal, const model::Call& call,
                                         const model::Message& answer, const char* responder);

// Returns the advice for it: a constant.
[[nodiscard]] const char* refusal_advice(const Refusal& refusal);

// Returns whether responders may serve other programs without this one.
[[nodiscard]] bool is_optional_program(std::uint32_t program);

// Returns whether a requester may probe for something that is refused like this, and continue
// without it.
[[nodiscard]] bool may_be_probed(const Refusal& refusal, const model::RpcInfo& call);

}  // namespace rpcrdma::rules
