// rpcrdma fleet: asks the agents of a fleet, and what its bus has stored.
#include "commands.h"
#include "fleet_command.h"
#include "input.h"

#include <memory>

#include <fmt/core.h>

namespace rpcrdma::cli {

namespace {

int run_fleet(const FleetOptions& options) {
  const auto bus = parse_bus(options.bus, "rpcrdma fleet " + options.what);
  if (!bus) {
    complain("fleet: " + bus.error().message);
    return kUnreadable;
  }
  return fleet_record(options, *bus);
}

}  // namespace

Run add_fleet(command_line::Command& command) {
  auto options = std::make_shared<FleetOptions>();
  command.argument("WHAT", options->what, "record: record an endpoint of HOST and bring it here")
      .one_of({"record"})
      .required();
  command.argument("HOST", options->host, "Host, as its agent names it").value("HOST");
  command
      .option("--bus", options->bus.url,
              "The fleet's bus: nats://host:4222, tls://host:4222; "
              "several: separated by commas")
      .value("URL")
      .required();
  add_bus_options(command, options->bus);
  command.group("record");
  command.option("--for", options->duration, "Record for this time, at most 10 minutes")
      .value("DURATION")
      .show_default();
  command
      .option("--endpoint", options->endpoint,
              "Name or process ID of the endpoint, if the host has several")
      .value("NAME");
  command.option("-w,--write", options->write, "Write this file (HOST-ENDPOINT.pcapng)")
      .value("FILE");
  command.option("--max-size", options->size, "End the recording at this size, at most 1Gi")
      .value("SIZE")
      .show_default();
  command.example("rpcrdma fleet record node7 --bus nats://bus:4222 --for 10s -w node7.pcapng",
                  "Record the endpoint of node7 for ten seconds.");
  return [options] { return run_fleet(*options); };
}

}  // namespace rpcrdma::cli
