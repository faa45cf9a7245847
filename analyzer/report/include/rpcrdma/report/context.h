// What the writers of messages need beside a message.
#pragma once

#include <string>

#include <rpcrdma/filter/inputs.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/model/procedure_name.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/stats/quantity.h>

namespace rpcrdma::report {

struct Context {
  const roce::Connections* connections = nullptr;
  const model::Model* model = nullptr;

  // IDs count from 1; a connection that turned out to be a direction of another has that one's.
  [[nodiscard]] std::uint32_t connection_id(std::uint32_t index) const {
    return model->canonical(index) + 1;
  }
  // The connection under which `m` is reported, and the side of it that sent `m`.
  [[nodiscard]] const roce::Connection& connection(const model::Message& m) const {
    return connections->connection(model->canonical(m.connection));
  }
  [[nodiscard]] std::size_t sender(const model::Message& m) const {
    return model->canonical(m.connection) == m.connection ? m.sender : 1U - m.sender;
  }
  // What a filter may ask of `m`. `call`: that it is or answers; `start_ns`: of the capture.
  [[nodiscard]] filter::Inputs inputs(const model::Message& m, const model::Call* call,
                                      std::int64_t start_ns) const;
};

using model::principal_operation;
using model::procedure_label;
using model::rpc_label;

// "ok", "NFS4ERR_NOENT", "PROG_MISMATCH", ...; empty when nothing is known.
[[nodiscard]] std::string reply_status(const model::RpcInfo& rpc);

// "2026-11-01 12:34:56.123456" in UTC, with as many digits as are not zero: 6 or 9.
[[nodiscard]] std::string format_time(std::int64_t time_ns);
// "12:34:56.123456"
[[nodiscard]] std::string format_clock(std::int64_t time_ns);
using stats::format_bytes;
using stats::format_duration;

}  // namespace rpcrdma::report
