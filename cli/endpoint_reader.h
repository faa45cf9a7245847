// Connects a command to a running endpoint. The endpoint "kernel" is started for the command if
// none runs, and ends with it.
#pragma once

#include <optional>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/kernel_endpoint/options.h>
#include <rpcrdma/kernel_launch/launch.h>

namespace rpcrdma::cli {

class EndpointReader {
 public:
  // `filter`, `sums`: options of a kernel endpoint that it starts.
  EndpointReader(kernel_endpoint::FilterText filter, bool sums)
      : filter_(std::move(filter)), sums_(sums) {}

  // Connects as trace::connect_endpoint() does. Under sudo the kernel endpoint belongs to the
  // calling user, and this program becomes that user. Errors also: the kernel cannot be traced,
  // with what to do; the filter applies to no endpoint that this starts.
  [[nodiscard]] base::Expected<base::FileDescriptor> connect(const std::string& which);

  // Prints what a started endpoint has printed.
  void print();
  // Ends a started endpoint, and prints the rest. `only_errors`: unless it ended as intended.
  void end(bool only_errors = false);

 private:
  [[nodiscard]] base::Expected<base::FileDescriptor> found(base::FileDescriptor fd) const;
  [[nodiscard]] base::Expected<base::FileDescriptor> start();

  kernel_endpoint::FilterText filter_;
  bool sums_;
  std::optional<kernel::Launched> started_;
};

}  // namespace rpcrdma::cli
