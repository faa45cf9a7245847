// Adds times without overflow: kNever stays kNever.
#pragma once

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::service {

[[nodiscard]] inline fabric::Time later(fabric::Time now, fabric::Time wait) {
  return wait >= fabric::kNever - now ? fabric::kNever : now + wait;
}

}  // namespace rpcrdma::service
