// Classifies NFS statuses: those that indicate a fault, and ordinary answers.
#pragma once

#include <cstdint>

#include <rpcrdma/model/message.h>

namespace rpcrdma::rules {

enum class StatusKind : std::uint8_t {
  kOrdinary,  // success, or an answer that programs expect: NOENT, EXIST, ACCESS
  kLater,     // the requester must retry: DELAY, JUKEBOX, GRACE
  kFault,     // all others: IO, STALE, SERVERFAULT
};

// Classifies the status of a Reply that has one.
[[nodiscard]] StatusKind status_kind(const model::RpcInfo& rpc);

// Returns whether `count` of `answers` with one status of this kind are worth a finding.
[[nodiscard]] bool is_many(StatusKind kind, std::uint64_t count, std::uint64_t answers);

}  // namespace rpcrdma::rules
