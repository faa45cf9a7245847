// The kernel's tracepoints by tracefs, under any root: for tests.
#pragma once

#include <memory>
#include <string>

#include <rpcrdma/kernel/source.h>

namespace rpcrdma::kernel {

// `root`: where tracefs is mounted.
[[nodiscard]] base::Expected<std::unique_ptr<Source>> open_tracefs_at(const std::string& root,
                                                                      const Options& options);

}  // namespace rpcrdma::kernel
