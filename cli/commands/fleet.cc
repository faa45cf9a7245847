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
  if (options.what == "hosts") return fleet_hosts(options, *bus);
  if (options.what == "findings") return fleet_findings(options, *bus);
  return fleet_record(options, *bus);
}

}  // namespace

Run add_fleet(command_line::Command& command) {
  auto options = std::make_shared<FleetOptions>();
  command
      .argument("WHAT", options->what,
                "hosts: list the hosts; findings: print what their endpoints found; record: record "
                "an endpoint of HOST and bring it here")
      .one_of({"hosts", "findings", "record"})
      .required();
  command
      .argument("HOST", options->host, "Host, as its agent names it; findings: of this host only")
      .value("HOST");
  command
      .option("--bus", options->bus.url,
              "The fleet's bus: nats://host:4222, tls://host:4222; "
              "several: separated by commas")
      .value("URL")
      .required();
  add_bus_options(command, options->bus);
  command.group("hosts and findings");
  command.flag("--json", options->json, "Print JSON, one line for each host or finding");
  command.option("--since", options->since, "Findings of this time before now, at most 7 days")
      .value("DURATION")
      .show_default();
  command.option("--host", options->host, "The same as HOST").value("HOST");
  command.flag("-f,--follow", options->follow, "Print findings also as they come, until Ctrl-C");
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
  command.example(
      "rpcrdma fleet hosts --bus nats://bus:4222",
      "List the hosts of a fleet, after three seconds in which their rates are measured.");
  command.example("rpcrdma fleet findings --bus nats://bus:4222 --since 1h",
                  "Print the findings of all hosts in the last hour.");
  command.example("rpcrdma fleet record node7 --bus nats://bus:4222 --for 10s -w node7.pcapng",
                  "Record the endpoint of node7 for ten seconds.");
  return [options] { return run_fleet(*options); };
}

}  // namespace rpcrdma::cli
