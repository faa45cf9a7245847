#include <rpcrdma/roce/connections.h>

namespace rpcrdma::roce {

const Connection& Connections::connection(std::uint32_t index) const {
  if (const Connection* c = find(index)) return *c;
  static const Connection kNothing;
  return kNothing;
}

}  // namespace rpcrdma::roce
