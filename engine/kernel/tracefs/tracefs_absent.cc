// Without libtracefs.
#include <rpcrdma/kernel/source.h>

namespace rpcrdma::kernel {

base::Expected<std::unique_ptr<Source>> open_tracefs(const Options& /*options*/) {
  return base::fail("this program was built without libtracefs, so it cannot read tracepoints");
}

}  // namespace rpcrdma::kernel
