// rpcrdma fleet record: brings a recording of another host here.
#include "commands.h"
#include "fleet_command.h"
#include "input.h"
#include "interrupt.h"
#include "parse.h"

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/fleet/fetch.h>
#include <rpcrdma/fleet/record.h>

namespace rpcrdma::cli {

namespace {

int no_recording(const std::string& why) {
  complain("fleet record: " + why);
  return kUnreadable;
}

}  // namespace

int fleet_record(const FleetOptions& options, const fleet::BusOptions& bus_options) {
  if (options.host.empty()) return no_recording("name the host");
  const auto duration = base::parse_duration(options.duration);
  if (!duration || *duration > fleet::kMostRecordNs) {
    return no_recording(
        fmt::format("--for {}: not a time of at most 10 minutes, such as 10s", options.duration));
  }
  const auto size = base::parse_size(options.size);
  if (!size || *size > fleet::kMostRecordBytes) {
    return no_recording(fmt::format("--max-size {}: not a size of at most 1Gi", options.size));
  }
  const auto bus = fleet::Bus::connect(bus_options);
  if (!bus) return no_recording(bus.error().message);
  const Interrupt interrupt({});
  fleet::FetchOptions fetch;
  fetch.host = options.host;
  fetch.endpoint = options.endpoint;
  fetch.duration_ns = *duration;
  fetch.most_bytes = *size;
  fetch.file = options.write;
  fetch.interrupted = [] { return Interrupt::came(); };
  fetch.begun = [&](const std::string& endpoint) {
    inform(fmt::format("{} records {} for {}", options.host, endpoint,
                       base::format_duration(*duration)));
  };
  const auto fetched = fleet::fetch(**bus, fetch);
  if (!fetched) return no_recording(fetched.error().message);
  inform(fmt::format("{}: {}, {} events, {} lost{}", fetched->file,
                     base::format_bytes(fetched->bytes), fetched->events, fetched->lost,
                     fetched->ended_early.empty()
                         ? std::string()
                         : fmt::format("; ended early: {}", fetched->ended_early)));
  return kOk;
}

}  // namespace rpcrdma::cli
