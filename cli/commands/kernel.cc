// rpcrdma kernel: runs the program rpcrdma-kernel in the place of this one.
#include "commands.h"
#include "input.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/helper_program.h>
#include <rpcrdma/kernel_endpoint/options.h>

namespace rpcrdma::cli {

namespace {

int become_kernel(const kernel_endpoint::OptionText& text) {
  // Errors in options are errors of this command.
  if (const auto plan = kernel_endpoint::parse(text); !plan) {
    complain("kernel: " + plan.error().message);
    return kUnreadable;
  }
  auto program = base::find_helper_program("rpcrdma-kernel");
  if (!program) {
    complain("kernel: " + program.error().message);
    return kUnreadable;
  }
  std::vector<std::string> words = kernel_endpoint::words(text);
  std::vector<char*> arguments{program->data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program->c_str(), arguments.data());
  complain(fmt::format("kernel: {}: {}", *program, std::strerror(errno)));
  return kUnreadable;
}

}  // namespace

Run add_kernel(command_line::Command& command) {
  auto text = std::make_shared<kernel_endpoint::OptionText>();
  kernel_endpoint::add_options(command, *text);
  command.example("sudo rpcrdma kernel --sums --metrics 127.0.0.1:9464",
                  "Count Calls, latencies, credits and chunks in the kernel, for Prometheus.");
  command.example("sudo rpcrdma kernel --slower 10ms --record slow.pcapng",
                  "Record the slow Calls of this machine's NFS/RDMA client and server.");
  command.example("sudo rpcrdma kernel --server --peer 10.0.0.0/24",
                  "Trace the server's connections with one network.");
  return [text] { return become_kernel(*text); };
}

}  // namespace rpcrdma::cli
