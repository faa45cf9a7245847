// Without libbpf.
#include <rpcrdma/kernel/source.h>

namespace rpcrdma::kernel {

base::Expected<std::unique_ptr<Source>> open_bpf(const Options& /*options*/, std::string* /*log*/) {
  return base::fail("this program was built without libbpf, so it cannot load BPF programs");
}

}  // namespace rpcrdma::kernel
