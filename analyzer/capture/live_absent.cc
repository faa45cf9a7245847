// The stub for a build without libpcap.
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

constexpr const char* kAbsent =
    "this build cannot capture from interfaces: it was configured with RPCRDMA_LIVE=OFF";

}  // namespace

Expected<std::unique_ptr<LiveSource>> open_live(const LiveOptions&) {
  return fail(kAbsent);
}

Expected<std::vector<ListedInterface>> list_interfaces() {
  return fail(kAbsent);
}

}  // namespace rpcrdma::capture
