// The connections and the model of a session, with what is derived from both: the IDs that users
// see and the input of display filters.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rpcrdma/filter/inputs.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/connections.h>

namespace rpcrdma::session {

struct Context {
  const roce::Connections* connections = nullptr;
  const model::Model* model = nullptr;

  // IDs count from 1. A connection that was merged into another has the other's ID.
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
  // The input of a display filter for `m`. `call`: the Call that `m` is or answers, or null.
  // `start_ns`: when the capture begins.
  [[nodiscard]] filter::Inputs inputs(const model::Message& m, const model::Call* call,
                                      std::int64_t start_ns) const;
};

}  // namespace rpcrdma::session
