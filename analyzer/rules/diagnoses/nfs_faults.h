// NFS statuses that speak of a fault, and those that answer a question.
#pragma once

#include <cstdint>

#include <rpcrdma/model/message.h>

namespace rpcrdma::rules {

enum class StatusKind : std::uint8_t {
  kOrdinary,  // success, or an answer that programs expect: NOENT, EXIST, ACCESS
  kLater,     // the Call is to be sent again: DELAY, JUKEBOX, GRACE
  kFault,     // all others: IO, STALE, SERVERFAULT
};

// Of a Reply that has a status.
[[nodiscard]] StatusKind status_kind(const model::RpcInfo& rpc);

// Whether `count` of `answers` with one status of this kind are worth a word.
[[nodiscard]] bool is_many(StatusKind kind, std::uint64_t count, std::uint64_t answers);

}  // namespace rpcrdma::rules
