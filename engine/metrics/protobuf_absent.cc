// Replaces protobuf.cc in a build without protozero.
#include "protobuf.h"

namespace rpcrdma::metrics {

bool has_protobuf() {
  return false;
}

std::string protobuf(const Collected& /*collected*/) {
  return {};
}

}  // namespace rpcrdma::metrics
