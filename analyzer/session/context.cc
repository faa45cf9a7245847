#include <rpcrdma/session/context.h>

namespace rpcrdma::session {

filter::Inputs Context::inputs(const model::Message& m, const model::Call* call,
                               std::int64_t start_ns) const {
  const roce::Connection& c = connection(m);
  filter::Inputs in;
  in.message = &m;
  in.call = call;
  in.connection = connection_id(m.connection);
  in.sender = &c.side[sender(m)];
  in.receiver = &c.side[1 - sender(m)];
  in.reverse = model->reverse(m);
  in.thresholds = model->connection(model->canonical(m.connection)).thresholds;
  in.start_ns = start_ns;
  return in;
}

}  // namespace rpcrdma::session
