// Options of commands with an endpoint of their own: parses them, chooses the provider, opens it.
#include "endpoint.h"

#include "host_name.h"
#include "input.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/quantity.h>
#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/verbs/system.h>

namespace rpcrdma::cli {

namespace {

using fabric::Address;

// Returns the source address that the kernel would use towards `peer`.
std::optional<Address> route_source(const Address& peer) {
  const fabric::SocketAddress to = fabric::to_socket_address(peer, 4791);
  const base::FileDescriptor fd(::socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  fabric::SocketAddress own{};
  socklen_t length = sizeof own;
  if (fd.get() < 0 || ::connect(fd.get(), &to.any, length_of(to)) != 0 ||
      ::getsockname(fd.get(), &own.any, &length) != 0) {
    return std::nullopt;
  }
  const auto endpoint = to_endpoint(own);
  return endpoint ? std::optional<Address>(endpoint->address) : std::nullopt;
}

std::optional<ProviderKind> parse_kind(const EndpointOptions& options, const char* command) {
  const auto refuse = [&](const std::string& what) {
    complain(fmt::format("{}: {}", command, what));
    return std::nullopt;
  };
  const std::string& name = options.provider;
  if (name != "auto" && name != "soft" && name != "verbs") {
    return refuse(fmt::format("--provider {}: give auto, soft or verbs", name));
  }
  const bool wants_soft = !options.faults.empty() || !options.pcapng.empty() || options.exact;
  const bool wants_device = !options.device.empty() || options.gid_index;
  if (wants_soft && (name == "verbs" || wants_device)) {
    return refuse(
        "--fault, --pcapng and --exact act on packets, which an RDMA device does not expose; they "
        "require --provider soft");
  }
  if (wants_device && name == "soft") {
    return refuse("--device and --gid-index require --provider verbs");
  }
  if (name == "soft" || wants_soft) return ProviderKind::kSoft;
  return name == "verbs" || wants_device ? ProviderKind::kVerbs : ProviderKind::kAuto;
}

// The RFC 5666 profile switches off what was introduced later.
bool parse_profile(const EndpointOptions& options, Endpoint& e, const char* command) {
  e.config.max_reads = options.max_reads;
  if (options.profile == "rfc8166") return true;
  if (options.versions == "2") {
    complain(fmt::format(
        "{}: --profile rfc5666 implies version 1, so it cannot be used with --rdma-version 2",
        command));
    return false;
  }
  e.profile = service::Profile::k5666;
  e.private_data = false;
  e.remote_invalidation = false;
  e.version.versions = {1, 1};
  return true;
}

// Returns the own address that --gid-index selects, if any.
std::optional<Address> gid_address(const Endpoint& endpoint, const char* command) {
  const auto address =
      verbs::address_of_gid(verbs::look_at_system(), endpoint.device, *endpoint.gid_index);
  if (address) return *address;
  complain(fmt::format("{}: --gid-index: {}", command, address.error().message));
  return std::nullopt;
}

}  // namespace

void add_provider_options(command_line::Command& command, EndpointOptions& options) {
  command.group("RDMA provider");
  command
      .option("--provider", options.provider,
              "verbs: an RDMA device; soft: RDMA in user space; auto: verbs if the own address "
              "belongs to an RDMA device")
      .value("KIND")
      .one_of({"auto", "soft", "verbs"})
      .show_default();
  command
      .option("--device", options.device,
              "RDMA device that owns the local address (`rpcrdma doctor` lists them); with a port: "
              "mlx5_0:2")
      .value("DEVICE");
  command
      .option("--gid-index", options.gid_index,
              "Entry of the device's GID table that holds the local IP address")
      .value("N")
      .needs("--device")
      .whole_number();
  command
      .option("--handles", options.handles,
              "How to make memory accessible to the peer on an RDMA device: memory windows, "
              "registrations, or whichever works best on the device")
      .value("KIND")
      .one_of({"auto", "windows", "registrations"})
      .show_default();
}

void add_endpoint_options(command_line::Command& command, EndpointOptions& options) {
  command.group("Protocol");
  command.option("-p,--port", options.port, "RPC-over-RDMA port of the server")
      .value("PORT")
      .show_default()
      .whole_number();
  command
      .option("--inline", options.inline_threshold,
              "Inline threshold to offer in private data: 1Ki to 256Ki")
      .value("SIZE")
      .show_default();
  command.flag("--no-private-data", options.no_private_data,
               "Send no private data when connecting, and keep to the default inline threshold of "
               "1024 bytes");
  command
      .option("--rdma-version", options.versions,
              "RPC-over-RDMA versions to support: 1, 2, or 1-2. A client starts with the higher "
              "one and falls back to what the server supports")
      .value("VERSIONS")
      .one_of({"1", "2", "1-2"})
      .show_default();
  command.flag(
      "--private-data-v2", options.private_data_for_two,
      "Let private data raise version 2's inline thresholds above 4096 bytes. Set it at "
      "both ends: longer messages are sent only if the peer has sent longer ones itself, or "
      "if its Call has no chunk for the Reply");
  command.flag("--no-remote-invalidation", options.no_remote_invalidation,
               "Do not use Send With Invalidate");
  command
      .option("--profile", options.profile,
              "rfc8166: version 1 as deployed; rfc5666: with what RFC 8166 removed (RDMA_MSGP, "
              "Replies with Read chunks, RDMA_DONE, the Connection Configuration Protocol), and "
              "without private data, version 2 and Remote Invalidation (docs/rfc5666.md)")
      .value("PROFILE")
      .one_of({"rfc8166", "rfc5666"})
      .show_default();
  command
      .option("--max-reads", options.max_reads,
              "With --profile rfc5666: RDMA Reads that the peer may have in flight; 0: none")
      .value("N")
      .show_default()
      .whole_number();
  add_provider_options(command, options);
  command.group("Packets of the soft fabric");
  command
      .option("--fault", options.faults,
              "Inject packet faults, such as 'drop rate=0.01 seed=7' (docs/faults.md)")
      .value("PLAN")
      .one_word();
  command.option("--pcapng", options.pcapng, "Write all packets to this file").value("FILE");
  command.flag("--exact", options.exact,
               "Send each packet in a datagram of its own, without batching");
  command.group("RDMA provider");
  command.flag("--busy-poll", options.busy_poll,
               "Poll without sleeping: lower latency, but uses a whole CPU");
  add_tracing_options(command, options.tracing);
  command.group("");
}

void apply(const Endpoint& endpoint, service::ClientOptions& client) {
  client.port = endpoint.port;
  client.inline_threshold = endpoint.inline_threshold;
  client.private_data = endpoint.private_data;
  client.remote_invalidation = endpoint.remote_invalidation;
  client.version = endpoint.version;
  client.profile = endpoint.profile;
  client.config = endpoint.config;
}

void apply(const Endpoint& endpoint, service::ServerOptions& server) {
  server.port = endpoint.port;
  server.inline_threshold = endpoint.inline_threshold;
  server.private_data = endpoint.private_data;
  server.remote_invalidation = endpoint.remote_invalidation;
  server.version = endpoint.version;
  server.profile = endpoint.profile;
  server.config = endpoint.config;
}

std::string version_hint(const service::ConnectionInfo& connection) {
  if (!connection.refused) return {};
  for (const std::uint32_t version : {protocol::kVersionOne, protocol::kVersionTwo}) {
    if (connection.refused->contains(version)) {
      return fmt::format("; give --rdma-version {}", version);
    }
  }
  return {};
}

std::optional<Endpoint> parse_endpoint(const EndpointOptions& options, const char* command) {
  Endpoint e;
  if (!in_range(options.port, 1, UINT16_MAX, command, "--port")) return std::nullopt;
  e.port = static_cast<std::uint16_t>(options.port);
  const auto threshold = base::parse_size(options.inline_threshold);
  if (!threshold || *threshold < 1024 || *threshold > 256U << 10 || *threshold % 1024 != 0) {
    complain(fmt::format("{}: --inline {}: not a multiple of 1Ki from 1Ki to 256Ki", command,
                         options.inline_threshold));
    return std::nullopt;
  }
  e.inline_threshold = static_cast<std::uint32_t>(*threshold);
  e.private_data = !options.no_private_data;
  e.remote_invalidation = !options.no_remote_invalidation;
  e.version.versions = {options.versions == "2" ? 2U : 1U, options.versions == "1" ? 1U : 2U};
  e.version.private_data_for_two = options.private_data_for_two;
  if (!parse_profile(options, e, command)) return std::nullopt;
  const auto kind = parse_kind(options, command);
  if (!kind) return std::nullopt;
  e.kind = *kind;
  e.device = options.device;
  e.gid_index = options.gid_index;
  e.handles = options.handles == "windows"         ? verbs::HandleKind::kWindows
              : options.handles == "registrations" ? verbs::HandleKind::kRegistrations
                                                   : verbs::HandleKind::kAuto;
  std::string plan;
  for (const std::string& text : options.faults) {
    // Parsed one by one, so that an error's position refers to its own option.
    if (const auto faults = soft::parse_faults(text); !faults) {
      complain(fmt::format("{}: --fault: {}", command, soft::describe(faults.error())));
      return std::nullopt;
    }
    plan += text + '\n';
  }
  const auto faults = soft::parse_faults(plan);
  if (!faults) {
    complain(fmt::format("{}: --fault: {}", command, soft::describe(faults.error())));
    return std::nullopt;
  }
  e.provider.faults = *faults;
  e.provider.pcapng = options.pcapng;
  e.provider.udp.exact = options.exact;
  e.spin = options.busy_poll ? fabric::kNever : 0;
  const auto tracing = parse_tracing(options.tracing, command);
  if (!tracing) return std::nullopt;
  e.tracing = *tracing;
  e.tracing.packet_file = std::make_shared<PacketFile>();
  if (!options.pcapng.empty() && options.pcapng == e.tracing.record) {
    complain(fmt::format("{}: --pcapng and --record name the same file", command));
    return std::nullopt;
  }
  return e;
}

bool choose_provider(Endpoint& endpoint, const Address& own, const char* command) {
  if (endpoint.gid_index) {
    const auto address = gid_address(endpoint, command);
    if (!address) return false;
    if (*address != own) {
      complain(fmt::format("{}: --gid-index {} is {}, but the own address is {}", command,
                           *endpoint.gid_index, address->to_string(), own.to_string()));
      return false;
    }
  }
  if (endpoint.kind == ProviderKind::kAuto) {
    const auto device = verbs::VerbsProvider::device_of(own);
    if (!device) {
      complain(fmt::format("{}: not using an RDMA device: {}", command, device.error().message));
    }
    endpoint.kind = device && !device->empty() ? ProviderKind::kVerbs : ProviderKind::kSoft;
  }
  endpoint.tracing.packets = endpoint.kind == ProviderKind::kSoft;
  return true;
}

namespace {

soft::PacketLogOptions packet_log_options(const Endpoint& endpoint, const char* command) {
  soft::PacketLogOptions options = endpoint.provider.packet_log;
  options.losing = [command, file = endpoint.provider.pcapng] {
    complain(fmt::format(
        "{}: --pcapng: {} is slower than the packets: what it has no room for is lost and counted",
        command, file));
  };
  options.failed = [command](const std::string& error) {
    complain(fmt::format("{}: --pcapng: {}", command, error));
  };
  // Of all files, if they are rotated.
  options.ended = [end = endpoint.tracing.packet_file,
                   file = endpoint.provider.pcapng](const soft::PacketLogCounters& counters) {
    end->file = file;
    end->counters.written += counters.written;
    end->counters.lost += counters.lost;
    if (end->counters.error.empty()) end->counters.error = counters.error;
  };
  return options;
}

}  // namespace

std::unique_ptr<soft::PacketLog> rotate_packets(const Endpoint& endpoint,
                                                const OpenProvider& provider, const char* command) {
  const std::string& file = endpoint.provider.pcapng;
  if (file.empty() || provider.soft == nullptr) return nullptr;
  if (::access(file.c_str(), F_OK) == 0) {
    complain(fmt::format(
        "{}: warning: --pcapng {}: the file has not been renamed, so it is not begun again",
        command, file));
    return nullptr;
  }
  auto log = soft::PacketLog::create(file, packet_log_options(endpoint, command));
  if (!log) {
    complain(fmt::format("{}: --pcapng: {}", command, log.error().message));
    return nullptr;
  }
  return provider.soft->log_to(std::make_unique<soft::PacketLog>(std::move(*log)));
}

OpenProvider open_provider(const Endpoint& endpoint, const Address& address, trace::Tracer* tracer,
                           const char* command) {
  const auto refuse = [&](const fabric::Error& error) {
    complain(fmt::format("{}: {}", command, error.message));
    return OpenProvider();
  };
  OpenProvider open;
  if (endpoint.kind == ProviderKind::kVerbs) {
    verbs::VerbsOptions options;
    options.address = address;
    options.device = endpoint.device.substr(0, endpoint.device.find(':'));
    options.handles = endpoint.handles;
    options.tracer = tracer;
    auto provider = verbs::VerbsProvider::open(options);
    if (!provider) return refuse(provider.error());
    open.verbs = provider->get();
    open.device = (*provider)->device();
    open.provider = std::move(*provider);
    return open;
  }
  soft::ProviderOptions options = endpoint.provider;
  options.adapter.address = address;
  options.adapter.tracer = tracer;
  if (!options.pcapng.empty()) {
    options.packet_log = packet_log_options(endpoint, command);
  }
  auto provider = soft::SoftProvider::open(options);
  if (!provider) return refuse(provider.error());
  open.soft = provider->get();
  open.provider = std::move(*provider);
  return open;
}

void add_peers(command_line::Command& command, std::string& host, std::string& from) {
  command
      .argument("HOST", host,
                "The server: a name, or an IPv4 or IPv6 address; also HOST:PORT, [ADDRESS]:PORT")
      .required();
  command
      .option("--from", from,
              "Own address or its name (source address of the route to HOST; 127.0.0.2 for HOST "
              "127.0.0.1)")
      .value("ADDRESS");
}

namespace {

// Returns the addresses of a host on the command line. `port`: receives its port; null: it may have
// none. On an error prints a line on stderr and returns none.
std::vector<Address> addresses_of(const std::string& text, std::optional<std::uint16_t>* port,
                                  const std::string& prefix) {
  const auto refuse = [&](const std::string& what) {
    complain(fmt::format("{}: {}", prefix, what));
    return std::vector<Address>();
  };
  const auto split = split_host(text);
  if (!split) return refuse(split.error().message);
  if (split->port && port == nullptr) {
    return refuse(fmt::format("\"{}\": give no port here", text));
  }
  auto addresses = resolve(split->host);
  if (!addresses) return refuse(addresses.error().message);
  if (port != nullptr) *port = split->port;
  return std::move(*addresses);
}

// The port of HOST:PORT and that of --port are the same option.
bool set_port(Endpoint& endpoint, std::optional<std::uint16_t> port, const std::string& prefix) {
  if (!port || *port == endpoint.port) return true;
  if (endpoint.port != EndpointOptions().port) {
    complain(fmt::format("{}: port {} here, but --port {}", prefix, *port, endpoint.port));
    return false;
  }
  endpoint.port = *port;
  return true;
}

// Chooses the own address that fits one of the server's. `owns`: the candidates; empty: that of the
// route.
bool choose_addresses(const std::vector<Address>& servers, const std::vector<Address>& owns,
                      Peers& peers) {
  for (const Address& server : servers) {
    peers.server = server;
    if (owns.empty()) {
      const auto own = route_source(server);
      if (!own) continue;
      peers.from = *own == fabric::make_ipv4(127, 0, 0, 1) && *own == server
                       ? fabric::make_ipv4(127, 0, 0, 2)
                       : *own;
      peers.from_was_chosen = true;
      return true;
    }
    const auto fits = std::ranges::find(owns, server.ipv6, &Address::ipv6);
    if (fits == owns.end()) continue;
    peers.from = *fits;
    return true;
  }
  return false;
}

}  // namespace

std::optional<Address> parse_listen(const std::string& text, Endpoint& endpoint,
                                    const char* command) {
  const std::string prefix = fmt::format("{}: --listen", command);
  std::optional<std::uint16_t> port;
  const std::vector<Address> addresses = addresses_of(text, &port, prefix);
  if (addresses.empty() || !set_port(endpoint, port, prefix)) return std::nullopt;
  return addresses.front();
}

std::optional<Peers> parse_peers(const std::string& host, const std::string& from,
                                 Endpoint& endpoint, const char* command) {
  Peers peers;
  std::optional<std::uint16_t> port;
  const std::vector<Address> servers = addresses_of(host, &port, command);
  if (servers.empty() || !set_port(endpoint, port, fmt::format("{}: {}", command, host))) {
    return std::nullopt;
  }
  peers.port_was_given = port.has_value();
  std::vector<Address> owns;
  if (!from.empty()) {
    owns = addresses_of(from, nullptr, fmt::format("{}: --from", command));
    if (owns.empty()) return std::nullopt;
  } else if (endpoint.gid_index) {
    const auto own = gid_address(endpoint, command);
    if (!own) return std::nullopt;
    owns.push_back(*own);
  }
  if (!choose_addresses(servers, owns, peers)) {
    complain(owns.empty()
                 ? fmt::format("{}: {}: no route to it; specify an own address with --from",
                               command, host)
                 : fmt::format("{}: --from {}: HOST has the other IP version", command,
                               from.empty() ? owns.front().to_string() : from));
    return std::nullopt;
  }
  if (!choose_provider(endpoint, peers.from, command)) return std::nullopt;
  return peers;
}

namespace {

// Returns whether the text is a zero duration, such as "0" or "0.0ms".
bool is_no_time(std::string_view text) {
  const std::size_t number = std::min(text.find_first_not_of("0."), text.size());
  if (text.substr(0, number).find('0') == std::string_view::npos) return false;
  return base::parse_duration("1" + std::string(text.substr(number))).has_value();
}

}  // namespace

std::optional<fabric::Time> duration_option(const std::string& text, const char* command,
                                            const char* option) {
  const auto ns = base::parse_duration(text);
  if (!ns && is_no_time(text)) {
    complain(fmt::format("{}: {} {}: it must be more than zero", command, option, text));
  } else if (!ns) {
    complain(fmt::format(
        "{}: {} {}: not a duration; give seconds, or a duration such as 500us, 20ms, 5m", command,
        option, text));
  }
  return ns;
}

std::optional<fabric::Time> limit_option(const std::string& text, const char* command,
                                         const char* option) {
  if (is_no_time(text)) return fabric::kNever;
  return duration_option(text, command, option);
}

std::optional<std::uint32_t> size_option(const std::string& text, const char* command,
                                         const char* option, std::uint32_t most) {
  const auto bytes = base::parse_size(text);
  if (bytes && *bytes <= most) return static_cast<std::uint32_t>(*bytes);
  if (bytes) {
    complain(fmt::format("{}: {} {}: exceeds the maximum of {}", command, option, text,
                         base::format_bytes(most)));
  } else {
    complain(fmt::format("{}: {} {}: not a size; give bytes, or a size such as 64k, 1Mi", command,
                         option, text));
  }
  return std::nullopt;
}

bool in_range(std::uint32_t value, std::uint32_t least, std::uint32_t most, const char* command,
              const char* option) {
  if (value >= least && value <= most) return true;
  complain(
      fmt::format("{}: {} {}: not a number from {} to {}", command, option, value, least, most));
  return false;
}

fabric::Time connect_timeout(fabric::Time timeout) {
  return std::min(timeout, service::ClientOptions().connect_timeout);
}

std::string server_text(const Address& address, std::uint16_t port) {
  return fmt::format("{} port {}", address.to_string(), port);
}

}  // namespace rpcrdma::cli
