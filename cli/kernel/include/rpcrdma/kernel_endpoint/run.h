// Runs the kernel as a live endpoint: opens a kernel source with privileges, gives them up, and
// passes the source's events to a hub until a signal, the end of standard input, or the end of the
// source.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/kernel/source.h>
#include <rpcrdma/kernel_endpoint/options.h>

namespace rpcrdma::kernel_endpoint {

// What an opener has to say besides its result.
struct Opening {
  std::string log;         // of the verifier
  std::string why_no_bpf;  // why another source than BPF was opened; empty: as the plan says
};
// Opens the source of a plan.
using Opener = std::function<base::Expected<std::unique_ptr<kernel::Source>>(const Plan& plan,
                                                                             Opening& opening)>;

// Returns the exit status. Prints on standard error what it traces, the reason for its end, and
// counts. For a program with one thread.
[[nodiscard]] int run(const Plan& plan, const Opener& open);

// The program: parses the command line, and runs.
[[nodiscard]] int main_of(int argc, const char* const* argv, const Opener& open);

}  // namespace rpcrdma::kernel_endpoint
