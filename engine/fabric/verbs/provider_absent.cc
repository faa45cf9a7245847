// Replaces the provider in a build without rdma-core.
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::verbs {

bool VerbsProvider::available() {
  return false;
}

fabric::Expected<std::unique_ptr<VerbsProvider>> VerbsProvider::open(
    const VerbsOptions& /*options*/) {
  return fabric::fail(
      fabric::Errc::kSystem,
      "this build does not support verbs: it was configured without librdmacm and libibverbs");
}

fabric::Expected<std::string> VerbsProvider::device_of(const fabric::Address& /*address*/) {
  return std::string();
}

}  // namespace rpcrdma::verbs
