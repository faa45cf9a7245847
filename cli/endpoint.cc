#include "endpoint.h"

#include "input.h"
#include "parse.h"

#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/service/loop.h>

namespace rpcrdma::cli {

namespace {

using fabric::Address;

// From which the kernel would send to `peer`.
std::optional<Address> route_source(const Address& peer) {
  sockaddr_storage to{};
  socklen_t length = 0;
  if (peer.ipv6) {
    auto& six = reinterpret_cast<sockaddr_in6&>(to);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(4791);
    six.sin6_scope_id = peer.scope;
    std::memcpy(&six.sin6_addr, peer.bytes.data(), 16);
    length = sizeof(sockaddr_in6);
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(to);
    four.sin_family = AF_INET;
    four.sin_port = htons(4791);
    std::memcpy(&four.sin_addr, peer.bytes.data(), 4);
    length = sizeof(sockaddr_in);
  }
  const int fd = ::socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  sockaddr_storage own{};
  length = peer.ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  socklen_t own_length = sizeof own;
  const bool known = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), length) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) == 0;
  ::close(fd);
  if (!known) return std::nullopt;
  Address a;
  a.ipv6 = own.ss_family == AF_INET6;
  if (a.ipv6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(own);
    std::memcpy(a.bytes.data(), &six.sin6_addr, 16);
    a.scope = six.sin6_scope_id;
  } else {
    std::memcpy(a.bytes.data(), &reinterpret_cast<const sockaddr_in&>(own).sin_addr, 4);
  }
  return a;
}

}  // namespace

void add_endpoint_options(CLI::App& app, EndpointOptions& options) {
  app.add_option("-p,--port", options.port, "The server's port of RPC-over-RDMA")
      ->type_name("PORT")
      ->capture_default_str();
  app.add_option("--inline", options.inline_threshold,
                 "Inline threshold that is offered in private data: 1Ki to 256Ki")
      ->type_name("SIZE")
      ->capture_default_str();
  app.add_flag("--no-private-data", options.no_private_data,
               "Offer nothing when connecting, and keep to 1024 bytes inline");
  app.add_option("--fault", options.faults,
                 "What is to go wrong with packets, such as 'drop rate=0.01 seed=7' "
                 "(docs/faults.md)")
      ->type_name("PLAN")
      ->allow_extra_args(false);
  app.add_option("--pcapng", options.pcapng, "Write all packets to this file")->type_name("FILE");
  app.add_flag("--exact", options.exact, "A datagram by itself for each packet, no batches");
  app.add_flag("--busy-poll", options.busy_poll,
               "Never sleep: lower latency, for a whole processor");
  add_tracing_options(app, options.tracing);
}

std::optional<Endpoint> parse_endpoint(const EndpointOptions& options, const char* command) {
  Endpoint e;
  if (!in_range(options.port, 1, UINT16_MAX, command, "--port")) return std::nullopt;
  e.port = static_cast<std::uint16_t>(options.port);
  const auto threshold = parse_size(options.inline_threshold);
  if (!threshold || *threshold < 1024 || *threshold > 256U << 10 || *threshold % 1024 != 0) {
    complain(fmt::format("{}: --inline {}: not a multiple of 1Ki from 1Ki to 256Ki", command,
                         options.inline_threshold));
    return std::nullopt;
  }
  e.inline_threshold = static_cast<std::uint32_t>(*threshold);
  std::string plan;
  for (const std::string& text : options.faults) {
    // Each by itself, for the place of what is wrong.
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
  if (!options.pcapng.empty() && options.pcapng == e.tracing.record) {
    complain(fmt::format("{}: --pcapng and --record name the same file", command));
    return std::nullopt;
  }
  return e;
}

std::unique_ptr<soft::SoftProvider> open_provider(const Endpoint& endpoint, const Address& address,
                                                  trace::Tracer* tracer, const char* command) {
  soft::ProviderOptions options = endpoint.provider;
  options.adapter.address = address;
  options.adapter.tracer = tracer;
  auto provider = soft::SoftProvider::open(options);
  if (!provider) {
    complain(fmt::format("{}: {}", command, provider.error().message));
    return nullptr;
  }
  return std::move(*provider);
}

void add_peers(CLI::App& app, std::string& host, std::string& from) {
  app.add_option("HOST", host, "The server's address, IPv4 or IPv6")->required();
  app.add_option("--from", from,
                 "Own address (the one that the route to HOST has; of 127.0.0.1 that is "
                 "127.0.0.2)")
      ->type_name("ADDRESS");
}

std::optional<Peers> parse_peers(const std::string& host, const std::string& from,
                                 const char* command) {
  Peers peers;
  const auto server = fabric::parse_address(host);
  if (!server) {
    complain(fmt::format("{}: {}", command, server.error().message));
    return std::nullopt;
  }
  peers.server = *server;
  if (!from.empty()) {
    const auto own = fabric::parse_address(from);
    if (!own) {
      complain(fmt::format("{}: --from: {}", command, own.error().message));
      return std::nullopt;
    }
    peers.from = *own;
    if (peers.from.ipv6 != peers.server.ipv6) {
      complain(fmt::format("{}: --from {}: HOST is of the other IP version", command, from));
      return std::nullopt;
    }
  } else {
    const auto own = route_source(peers.server);
    if (!own) {
      complain(
          fmt::format("{}: {}: no route to it; give an own address with --from", command, host));
      return std::nullopt;
    }
    peers.from = *own == fabric::make_ipv4(127, 0, 0, 1) && *own == peers.server
                     ? fabric::make_ipv4(127, 0, 0, 2)
                     : *own;
    peers.from_was_chosen = true;
  }
  if (peers.from == peers.server) {
    complain(fmt::format(
        "{}: {} is the own address too, and both ends need UDP port 4791; give another --from",
        command, host));
    return std::nullopt;
  }
  return peers;
}

std::optional<fabric::Time> duration_option(const std::string& text, const char* command,
                                            const char* option) {
  const auto ns = parse_duration(text);
  if (!ns) {
    complain(fmt::format("{}: {} {}: not a duration; give seconds, or such as 500us, 20ms, 5m",
                         command, option, text));
  }
  return ns;
}

std::optional<std::uint32_t> size_option(const std::string& text, const char* command,
                                         const char* option) {
  const auto bytes = parse_size(text);
  if (bytes && *bytes <= UINT32_MAX) return static_cast<std::uint32_t>(*bytes);
  complain(
      fmt::format("{}: {} {}: not a size; give bytes, or such as 64k, 1Mi", command, option, text));
  return std::nullopt;
}

bool in_range(std::uint32_t value, std::uint32_t least, std::uint32_t most, const char* command,
              const char* option) {
  if (value >= least && value <= most) return true;
  complain(
      fmt::format("{}: {} {}: not a number from {} to {}", command, option, value, least, most));
  return false;
}

std::string server_text(const Address& address, std::uint16_t port) {
  return fmt::format("{} port {}", address.to_string(), port);
}

}  // namespace rpcrdma::cli
