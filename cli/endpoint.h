// Options that all commands with an endpoint of their own share: addresses, the provider, and the
// options of both.
#pragma once

#include "tracing.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/provider.h>
#include <rpcrdma/verbs/provider.h>

namespace rpcrdma::cli {

struct EndpointOptions {
  std::uint32_t port = 20049;
  std::string inline_threshold = "4Ki";
  bool no_private_data = false;
  std::string versions = "1";
  bool private_data_for_two = false;
  bool no_remote_invalidation = false;
  std::string profile = "rfc8166";
  std::uint32_t max_reads = 16;
  std::vector<std::string> faults;
  std::string pcapng;
  bool exact = false;
  bool busy_poll = false;
  std::string provider = "auto";
  std::string device;
  std::optional<std::uint32_t> gid_index;
  std::string handles = "auto";
  TracingOptions tracing;
};

// --port, --inline, --no-private-data, --rdma-version, --private-data-v2,
// --no-remote-invalidation, --profile, --max-reads, --provider, --device, --gid-index, --handles,
// --fault, --pcapng,
// --exact, --busy-poll, and those of tracing.
void add_endpoint_options(command_line::Command& command, EndpointOptions& options);
// Adds only --provider, --device, --gid-index and --handles.
void add_provider_options(command_line::Command& command, EndpointOptions& options);

enum class ProviderKind : std::uint8_t { kAuto, kSoft, kVerbs };

// The parsed options. Invalid ones are reported on stderr in a line that starts with the name of
// the command, and nothing is returned.
struct Endpoint {
  std::uint16_t port = 0;
  std::uint32_t inline_threshold = 0;
  bool private_data = true;
  bool remote_invalidation = true;
  service::VersionOptions version;
  service::Profile profile = service::Profile::k8166;
  service::ConfigOptions config;
  ProviderKind kind = ProviderKind::kAuto;  // until choose_provider()
  std::string device;  // "mlx5_0", "mlx5_0:2"; empty: the device of the address
  std::optional<std::uint32_t> gid_index;
  verbs::HandleKind handles = verbs::HandleKind::kAuto;
  soft::ProviderOptions provider;  // options of the soft provider, except the address
  fabric::Time spin = 0;
  TracingPlan tracing;
};
[[nodiscard]] std::optional<Endpoint> parse_endpoint(const EndpointOptions& options,
                                                     const char* command);

// Copies the options that apply to a client or to a server.
void apply(const Endpoint& endpoint, service::ClientOptions& client);
void apply(const Endpoint& endpoint, service::ServerOptions& server);

// Returns a suffix for the error message of a failed connection: which --rdma-version the server
// supports. Empty if the version was not the reason or there is no common version.
[[nodiscard]] std::string version_hint(const service::ConnectionInfo& connection);

// Resolves ProviderKind::kAuto: verbs if the own address belongs to an RDMA device and no option
// requires soft, else soft. On an error prints a line on stderr and returns false.
[[nodiscard]] bool choose_provider(Endpoint& endpoint, const fabric::Address& own,
                                   const char* command);

// An open provider of either kind.
struct OpenProvider {
  std::unique_ptr<fabric::Provider> provider;  // null: could not be opened
  soft::SoftProvider* soft = nullptr;          // the same provider, if it is soft
  verbs::VerbsProvider* verbs = nullptr;       // the same provider, if it is a device's
  std::string device;                          // otherwise its device

  explicit operator bool() const { return provider != nullptr; }
};
// Opens a provider on this address; on an error prints a line on stderr and returns an empty one.
// `tracer`: receives the events of its packets; null: none.
[[nodiscard]] OpenProvider open_provider(const Endpoint& endpoint, const fabric::Address& address,
                                         trace::Tracer* tracer, const char* command);

// Opens the --pcapng file again if another program has renamed it, and logs packets there from now
// on. Returns the previous log, whose destructor waits for the disk; null if nothing has changed.
// Reports on stderr why that is so.
[[nodiscard]] std::unique_ptr<soft::PacketLog> rotate_packets(const Endpoint& endpoint,
                                                              const OpenProvider& provider,
                                                              const char* command);

// HOST and --from of the commands that send Calls.
struct Peers {
  fabric::Address server;
  fabric::Address from;
  bool from_was_chosen = false;
  bool port_was_given = false;  // HOST:PORT
};
// Parses --listen: an address or a name, with or without a port.
[[nodiscard]] std::optional<fabric::Address> parse_listen(const std::string& text,
                                                          Endpoint& endpoint, const char* command);
// Resolves names to addresses of the same IP version, IPv4 if both have both. Also chooses the
// provider.
[[nodiscard]] std::optional<Peers> parse_peers(const std::string& host, const std::string& from,
                                               Endpoint& endpoint, const char* command);
void add_peers(command_line::Command& command, std::string& host, std::string& from);

// Parses a duration or size option; on an error prints a line on stderr and returns nothing.
[[nodiscard]] std::optional<fabric::Time> duration_option(const std::string& text,
                                                          const char* command, const char* option);
// As duration_option(), of a time limit: 0 is none, fabric::kNever.
[[nodiscard]] std::optional<fabric::Time> limit_option(const std::string& text, const char* command,
                                                       const char* option);
[[nodiscard]] std::optional<std::uint32_t> size_option(const std::string& text, const char* command,
                                                       const char* option,
                                                       std::uint32_t most = UINT32_MAX);

// If not, prints a line on stderr and returns false.
[[nodiscard]] bool in_range(std::uint32_t value, std::uint32_t least, std::uint32_t most,
                            const char* command, const char* option);

// Returns the connect timeout for a command whose Calls time out after `timeout`.
[[nodiscard]] fabric::Time connect_timeout(fabric::Time timeout);

// "127.0.0.1 port 20049"
[[nodiscard]] std::string server_text(const fabric::Address& address, std::uint16_t port);

}  // namespace rpcrdma::cli
