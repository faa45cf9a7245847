// The options of a load, and what they mean.
#include "load/options.h"

#include "echo_option.h"
#include "input.h"
#include "rpcbind_option.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <rpcrdma/service/callback.h>

namespace rpcrdma::cli {

namespace {

using fabric::Time;

constexpr std::uint32_t kMostDepth = 1024;
constexpr std::uint32_t kMostLoadConnections = 10'000;
constexpr std::uint32_t kMostThreads = 64;
constexpr std::size_t kMostLoadServers = 256;

// Resolves all servers, which are called from one address. The port and the kind of the provider
// are in `plan.endpoint` then.
bool find_servers(const LoadOptions& o, const std::vector<std::string>& names, LoadPlan& plan) {
  const Endpoint given = plan.endpoint;
  for (const std::string& name : names) {
    Endpoint endpoint = given;
    const auto peers = parse_peers(name, o.from, endpoint, "load");
    if (!peers) return false;
    if (plan.servers.empty()) {
      plan.from = peers->from;
      plan.endpoint = endpoint;
    } else if (peers->from != plan.from && o.from.empty() && peers->from_was_chosen) {
      complain(fmt::format("load: {} is called from {} and {} from {}; give --from", names.front(),
                           plan.from.to_string(), name, peers->from.to_string()));
      return false;
    }
    if (o.rpcbind) {
      endpoint.port =
          ask_rpcbind(peers->server, service::echo::kProgram, service::echo::kVersion, "load");
    }
    const LoadServer server{peers->server, endpoint.port,
                            server_text(peers->server, endpoint.port)};
    const auto same = [&](const LoadServer& s) { return s.text == server.text; };
    if (std::ranges::any_of(plan.servers, same)) {
      complain(fmt::format("load: {}: given twice", server.text));
      return false;
    }
    plan.servers.push_back(server);
  }
  return true;
}

std::optional<LoadPlan> parse(const LoadOptions& o, const std::vector<std::string>& servers) {
  auto endpoint = parse_endpoint(o.endpoint, "load");
  if (!endpoint) return std::nullopt;
  const auto requests = parse_echo(o.procedures, o.size, o.sleep, "load");
  if (!requests) return std::nullopt;
  LoadPlan plan{.servers = {},
                .from = {},
                .endpoint = *endpoint,
                .requests = *requests,
                .limits = {},
                .pace = {},
                .timeout = 0,
                .metrics = {},
                .connections = o.connections,
                .depth = o.depth,
                .threads = o.threads,
                .seed = o.seed,
                .reverse = o.reverse,
                .both = o.both,
                .no_offer = o.no_offer,
                .raw = o.raw};
  if (!find_servers(o, servers, plan)) return std::nullopt;
  for (const std::string& text : o.limits) {
    if (const auto added = plan.limits.add(text); !added) {
      complain(fmt::format("load: --fail-above: {}", added.error().message));
      return std::nullopt;
    }
  }
  plan.limits.allow_no_errors();
  if (o.no_offer && endpoint->profile != service::Profile::k5666) {
    complain("load: --no-offer requires --profile rfc5666");
    return std::nullopt;
  }
  if (!in_range(o.depth, 1, kMostDepth, "load", "--depth") ||
      !in_range(o.connections, 1, kMostLoadConnections, "load", "--connections") ||
      !in_range(o.threads, 1, kMostThreads, "load", "--threads")) {
    return std::nullopt;
  }
  const LoadOutputOptions& out = o.output;
  if (o.reverse && !(out.interval + out.json_stream + out.hgrm + out.hlog).empty()) {
    complain(
        "load: --reverse: --interval, --json-stream, --hgrm and --hlog show the client's own "
        "Calls, "
        "and there are none; --both has them");
    return std::nullopt;
  }
  if (o.threads > o.connections) {
    complain(
        fmt::format("load: --threads {}: each thread needs a connection, so --connections must be "
                    "at least as large",
                    o.threads));
    return std::nullopt;
  }
  if (plan.servers.size() > 1 && (o.reverse || o.both)) {
    complain(fmt::format("load: {}: only with one server", o.reverse ? "--reverse" : "--both"));
    return std::nullopt;
  }
  // The program needs a session for each connection, and the server limits sessions per client
  // address.
  const service::callback::ProgramOptions takes;
  const std::uint32_t of_client = plan.endpoint.kind == ProviderKind::kSoft
                                      ? (o.connections + o.threads - 1) / o.threads
                                      : o.connections;
  if ((o.reverse || o.both) &&
      (of_client > takes.sessions_of_client || o.connections > takes.sessions)) {
    complain(
        fmt::format("load: --connections {}: for reverse Calls a server accepts at most {} from "
                    "one address (each of the --threads has its own), and {} in total",
                    o.connections, takes.sessions_of_client, takes.sessions));
    return std::nullopt;
  }
  // 127.0.0.2, 127.0.0.3, and so on: only the loopback network has addresses to spare.
  const fabric::Address& from = plan.from;
  const bool soft = plan.endpoint.kind == ProviderKind::kSoft;
  if (soft && o.threads > 1 && (from.ipv6 || from.bytes[0] != 127)) {
    complain(
        fmt::format("load: --threads {}: without an RDMA device each thread needs its own address, "
                    "counted up from --from, which works in 127.0.0.0/8 only",
                    o.threads));
    return std::nullopt;
  }
  // The server's address may be among them; it is skipped.
  if (soft && o.threads > 1 && from.bytes[3] + o.threads > 254) {
    complain(
        fmt::format("load: --threads {}: without an RDMA device each thread needs its own address, "
                    "and there are too few after --from {}; give one that ends in {} at most",
                    o.threads, from.to_string(), 254 - o.threads));
    return std::nullopt;
  }
  if (o.threads > 1 && !o.endpoint.pcapng.empty()) {
    complain("load: --pcapng: can only write the packets of one thread; use --threads 1");
    return std::nullopt;
  }
  if (!(o.rate >= 0) || o.rate > 1e9) {
    complain(fmt::format("load: --rate {}: not a number of Calls per second", o.rate));
    return std::nullopt;
  }
  plan.pace.rate = o.rate;
  plan.pace.count = o.count;
  plan.pace.threads = o.threads;
  if (!o.duration.empty() || o.count == 0) {
    const auto duration =
        duration_option(o.duration.empty() ? "10s" : o.duration, "load", "--duration");
    if (!duration) return std::nullopt;
    plan.pace.duration = *duration;
  }
  const auto timeout = limit_option(o.timeout, "load", "--timeout");
  if (!timeout) return std::nullopt;
  plan.timeout = *timeout;
  if (!o.metrics.address.empty()) {
    plan.metrics = parse_metrics(o.metrics, "load");
    if (!plan.metrics) return std::nullopt;
  }
  return plan;
}

}  // namespace

std::vector<std::string> server_names(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::string& given : hosts) {
    std::string_view rest = given;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      names.emplace_back(rest.substr(0, comma));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return names;
}

load::Setup setup_of_each(const LoadOptions& options) {
  load::Setup setup;
  setup.connections = options.connections;
  setup.depth = options.depth;
  setup.threads = options.threads;
  setup.rate = options.rate;
  setup.seed = options.seed;
  setup.procedures = load::echo_procedures();
  return setup;
}

load::Setup LoadPlan::setup() const {
  load::Setup setup;
  for (const LoadServer& server : servers) {
    setup.server += (setup.server.empty() ? "" : ", ") + server.text;
  }
  setup.from = from.to_string();
  setup.connections = connections * static_cast<std::uint32_t>(servers.size());
  setup.depth = depth;
  setup.threads = threads;
  setup.rate = pace.rate;
  setup.seed = seed;
  setup.procedures = load::echo_procedures();
  return setup;
}

tl::expected<LoadPlan, std::string> parse_load(const LoadOptions& options,
                                               const std::vector<std::string>& servers) {
  if (servers.empty()) return tl::unexpected(std::string("no server is given"));
  if (servers.size() > kMostLoadServers) {
    return tl::unexpected(
        fmt::format("{} servers; the maximum is {}", servers.size(), kMostLoadServers));
  }
  HeldComplaints held;
  auto plan = parse(options, servers);
  if (!plan) return tl::unexpected(held.take_last("load", "the options are invalid"));
  return std::move(*plan);
}

void add_load_hosts(command_line::Command& command, LoadOptions& options, bool required) {
  command_line::Option& hosts = command.argument(
      "HOST", options.hosts,
      "The server: a name, or an IPv4 or IPv6 address; also HOST:PORT, [ADDRESS]:PORT. Several, "
      "also separated by commas, are called at the same time");
  if (required) hosts.required();
  command
      .option("--from", options.from,
              "Own address or its name (source address of the route to HOST; 127.0.0.2 for HOST "
              "127.0.0.1)")
      .value("ADDRESS");
}

void add_load_options(command_line::Command& command, LoadOptions& options) {
  command.group("Load");
  command
      .option("--procedure", options.procedures,
              "Procedures of the program ECHO: null, echo, sink, source, echo-bulk, list, sleep, "
              "count; several with weights: echo:8,source:2; mix: all except sleep "
              "and count, also in a list: mix,sleep:2")
      .value("NAMES")
      .show_default();
  command
      .option("--size", options.size,
              "Bytes of data: a size, a range, or a list of both: 4Ki, 512-64Ki, 0,4Ki,1Mi. k and "
              "M are "
              "powers of 1000 (64k: 64000), Ki and Mi of 1024 (64Ki: 65536). In a mix, "
              "echo uses at most 64Ki and list at most 1M")
      .value("SIZES")
      .show_default();
  command.option("--sleep", options.sleep, "How long the procedure sleep waits at the server")
      .value("DURATION")
      .show_default();
  command.option("--depth", options.depth, "Calls in flight per connection")
      .value("N")
      .show_default()
      .whole_number();
  command.option("--connections", options.connections, "Connections, over all threads")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--threads", options.threads,
              "Threads; without an RDMA device each uses its own address, counted up from --from")
      .value("N")
      .show_default()
      .whole_number();
  command.option("-c,--count", options.count, "Stop after this many Calls; 0: no limit")
      .value("N")
      .whole_number();
  command
      .option(
          "--duration", options.duration,
          "Stop after this time: seconds, or 500ms, 5m (10s, unless there is a count). Calls in "
          "flight then have 1s to be answered")
      .value("DURATION");
  command.flag("--no-offer", options.no_offer,
               "With --profile rfc5666: offer no memory for Replies, so that the client reads long "
               "ones by Read chunks");
  command.flag(
      "--reverse", options.reverse,
      "Let the server send the Calls over these connections (RFC 8167); --procedure, --size, "
      "--depth, --count and --duration then apply to its Calls, which are all alike");
  command.flag("--both", options.both, "Send Calls in both directions at once")
      .excludes("--reverse");
  command
      .option("--rate", options.rate,
              "Calls per second; latency is measured from when a Call was due (as fast as replies "
              "come)")
      .value("N");
  command
      .option("--seed", options.seed,
              "Seed of the random choices: the same seed gives the same Calls")
      .value("N")
      .show_default()
      .whole_number();
  command
      .option("--timeout", options.timeout,
              "Timeout of a Call, after which its connection is closed and reconnected; 0: none. "
              "Connecting has the same timeout, but at most 10s")
      .value("DURATION")
      .show_default();
  command.group("Results");
  command
      .option("--fail-above", options.limits,
              "Exit with status 1 if p50, p90, p95, p99, p99.9, p99.99, mean or max is above this "
              "limit, "
              "or if there are more errors (0 by default), mismatches or Calls that could not be "
              "sent (not_begun): p99=200us, errors=10. A Call that failed or was not sent counts "
              "as slower than any limit")
      .value("LIMIT")
      .delimiter(',')
      .one_word();
  add_metrics_options(command, options.metrics);
  command.flag("--json", options.json, "Print one JSON object (docs/load.md)");
  add_load_output(command, options.output);
  command
      .option("--raw", options.raw,
              "Write the latency of each Call with a correct answer to this file: a line of "
              "nanoseconds each")
      .value("FILE");
  add_endpoint_options(command, options.endpoint);
  add_ask_rpcbind(command, options.rpcbind);
}

}  // namespace rpcrdma::cli
