// The options of a load: of `rpcrdma load`, and word for word of every program that runs a part of
// one, such as a rank.
#pragma once

#include "endpoint.h"
#include "load/output.h"
#include "metrics_option.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/load/echo_requests.h>
#include <rpcrdma/load/pacer.h>
#include <rpcrdma/load/report.h>
#include <rpcrdma/load/threshold.h>

namespace rpcrdma::cli {

struct LoadOptions {
  std::vector<std::string> hosts;  // servers; an element may hold several, separated by commas
  std::string from;
  EndpointOptions endpoint;
  std::string procedures = "echo";
  std::string size = "4Ki";
  std::string sleep = "1ms";
  std::uint32_t depth = 1;
  std::uint32_t connections = 1;
  std::uint32_t threads = 1;
  std::uint64_t count = 0;
  std::string duration;
  double rate = 0;
  std::uint64_t seed = 1;
  std::string timeout = "10s";
  std::vector<std::string> limits;
  MetricsText metrics;
  bool rpcbind = false;
  bool reverse = false;
  bool no_offer = false;
  bool both = false;
  std::string raw;
  LoadOutputOptions output;
  bool json = false;
};

// The arguments HOST... and --from. `required`: the program cannot find servers in another way.
void add_load_hosts(command_line::Command& command, LoadOptions& options, bool required);
// All the others, with their groups.
void add_load_options(command_line::Command& command, LoadOptions& options);

// The servers of `hosts`, without the commas.
[[nodiscard]] std::vector<std::string> server_names(const std::vector<std::string>& hosts);

// For load_ranks::WholeSetup: `connections` are those to each server, and no server is named.
[[nodiscard]] load::Setup setup_of_each(const LoadOptions& options);

// One server of a load.
struct LoadServer {
  fabric::Address address;
  std::uint16_t port = 0;
  std::string text;  // "127.0.0.1 port 20049"
};

// The parsed options.
struct LoadPlan {
  std::vector<LoadServer> servers;  // at least one
  fabric::Address from;
  Endpoint endpoint;
  load::EchoRequests requests;
  load::Thresholds limits;
  load::PacerOptions pace;
  fabric::Time timeout = 0;
  std::optional<MetricsAddress> metrics;
  std::uint32_t connections = 1;  // to each server, over all threads
  std::uint32_t depth = 1;
  std::uint32_t threads = 1;
  std::uint64_t seed = 1;
  bool reverse = false, both = false, no_offer = false;
  std::string raw;  // the file of --raw; empty: none

  // For the report of this process alone: `connections` are those to all servers.
  [[nodiscard]] load::Setup setup() const;
};

// Calls `servers`, which replace those of the options, so that one set of options serves several
// rounds. Error: one clause for display, without the name of the program. What is no error, such as
// a warning, goes to complain().
[[nodiscard]] tl::expected<LoadPlan, std::string> parse_load(
    const LoadOptions& options, const std::vector<std::string>& servers);

}  // namespace rpcrdma::cli
