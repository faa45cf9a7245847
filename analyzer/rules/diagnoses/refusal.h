// An answer that refuses its Call: by RPC-over-RDMA, by RPC, or for the minor version of NFSv4.
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

// Nothing: the Call was executed, or what its Reply says was not seen.
[[nodiscard]] std::optional<Refusal> refusal_of(const model::Message& answer);

// "ERR_CHUNK", "PROG_UNAVAIL", "AUTH_ERROR: AUTH_TOOWEAK"
[[nodiscard]] std::string refusal_name(const Refusal& refusal, const model::Message& answer);

// What the answer says besides: "the server has versions 3 to 3 of program NFS"; empty where it
// says no more. `responder`: "server" or "client".
[[nodiscard]] std::string refusal_reason(const Refusal& refusal, const model::Call& call,
                                         const model::Message& answer, const char* responder);

// What to do about it: a constant.
[[nodiscard]] const char* refusal_advice(const Refusal& refusal);

// Of a program that the others are served without.
[[nodiscard]] bool is_optional_program(std::uint32_t program);

// Whether requesters ask for what may be refused so, to go on without it.
[[nodiscard]] bool may_be_probed(const Refusal& refusal, const model::RpcInfo& call);

}  // namespace rpcrdma::rules
