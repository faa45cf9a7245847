// Chooses between the two ways to trace the kernel.
#include <rpcrdma/kernel/source.h>

#include <fmt/core.h>

namespace rpcrdma::kernel {

base::Expected<std::unique_ptr<Source>> open_source(const Options& options, std::string* log) {
  auto bpf = open_bpf(options, log);
  if (bpf) return bpf;
  auto tracefs = open_tracefs(options);
  if (tracefs) return tracefs;
  return base::fail(
      fmt::format("{}; nor by tracefs: {}", bpf.error().message, tracefs.error().message));
}

}  // namespace rpcrdma::kernel
