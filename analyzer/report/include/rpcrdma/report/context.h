// Text forms of names, times and states in reports.
#pragma once

#include <string>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/base/text_buffer.h>
#include <rpcrdma/model/procedure_name.h>
#include <rpcrdma/session/context.h>

namespace rpcrdma::report {

using model::principal_operation;
using model::procedure_label;
using model::rpc_label;
using session::Context;

// "ok", "NFS4ERR_NOENT", "PROG_MISMATCH", ...; empty if the status is unknown.
[[nodiscard]] std::string reply_status(const model::RpcInfo& rpc);

// "2026-11-01 12:34:56.123456" in UTC; nine decimals if the last three are not zero.
[[nodiscard]] std::string format_time(std::int64_t time_ns);
// "12:34:56.123456"
[[nodiscard]] std::string format_clock(std::int64_t time_ns);
void put_clock(base::TextBuffer& out, std::int64_t time_ns);
using base::format_bytes;
using base::format_duration;

}  // namespace rpcrdma::report
