// rpcrdma doctor: checks this machine's RDMA setup.
#include "commands.h"
#include "input.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/core.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/doctor/verdict.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::cli {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

int examine(bool json) {
  const auto machine = doctor::look_at_machine("", variable("PATH"), variable("HOME"));
  if (!machine) {
    complain(fmt::format("doctor: {}", machine.error().message));
    return kUnreadable;
  }
  doctor::Build build;
  build.verbs = verbs::VerbsProvider::available();
  build.kernel = doctor::find_kernel_program();
  build.confinement = base::confinement_support();
  if (const auto interfaces = capture::list_interfaces()) {
    build.live = true;
    for (const auto& i : *interfaces) build.interfaces.push_back(i.name);
  }
  const auto lines = doctor::judge(*machine, build);
  fmt::print("{}", json ? doctor::to_json(*machine, lines) : doctor::to_text(lines));
  return kOk;
}

}  // namespace

Run add_doctor(command_line::Command& command) {
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Print one JSON object (docs/verbs.md)");
  command.footer(
      "Checks RDMA devices, their ports, addresses and MTUs, kernel modules, privileges, limits, "
      "rpcbind, and what capturing, tracing the kernel and Wireshark need. Each problem comes with "
      "a remedy. It "
      "changes nothing.\n"
      "Exit status: 0, or 2 if the checks cannot run.");
  return [json] { return examine(*json); };
}

}  // namespace rpcrdma::cli
