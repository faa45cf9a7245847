// Chooses between the two ways to trace the kernel.
#include <fmt/core.h>

#include <rpcrdma/kernel/source.h>

namespace rpcrdma::kernel {

base::Expected<std::unique_ptr<Source>> open_source(const Options& options, std::string* log,
                                                    std::string* why_no_bpf) {
  auto bpf = open_bpf(options, log);
  if (bpf) return bpf;
  auto tracefs = open_tracefs(options);
  if (tracefs) {
    if (why_no_bpf != nullptr) *why_no_bpf = bpf.error().message;
    return tracefs;
  }
  return base::fail(
      fmt::format("{}; nor by tracefs: {}", bpf.error().message, tracefs.error().message));
}

}  // namespace rpcrdma::kernel
