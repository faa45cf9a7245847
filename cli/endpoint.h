// What every command that speaks the protocol itself has in common: addresses, the provider, and
// the options of both.
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
// Of these: --provider, --device, --gid-index, --handles.
void add_provider_options(command_line::Command& command, EndpointOptions& options);

enum class ProviderKind : std::uint8_t { kAuto, kSoft, kVerbs };

// The options that were text. On what makes no sense a line on stderr, which begins with the name
// of the command, and nothing.
struct Endpoint {
  std::uint16_t port = 0;
  std::uint32_t inline_threshold = 0;
  bool private_data = true;
  bool remote_invalidation = true;
  service::VersionOptions version;
  service::Profile profile = service::Profile::k8166;
  service::ConfigOptions config;
  ProviderKind kind = ProviderKind::kAuto;  // until choose_provider()
  std::string device;                       // "mlx5_0", "mlx5_0:2"; empty: that of the address
  std::optional<std::uint32_t> gid_index;
  verbs::HandleKind handles = verbs::HandleKind::kAuto;
  soft::ProviderOptions provider;  // of soft, but for the address
  fabric::Time spin = 0;
  TracingPlan tracing;
};
[[nodiscard]] std::optional<Endpoint> parse_endpoint(const EndpointOptions& options,
                                                     const char* command);

// What of it is a client's or a server's.
void apply(const Endpoint& endpoint, service::ClientOptions& client);
void apply(const Endpoint& endpoint, service::ServerOptions& server);

// Behind what is said of a connection that was given up: which --rdma-version the server speaks.
// Empty where that was not the reason, or we speak none of them at all.
[[nodiscard]] std::string version_hint(const service::ConnectionInfo& connection);

// Makes of ProviderKind::kAuto what fits the own address: verbs, if that belongs to an RDMA device
// and nothing is asked for that only soft has. Else a line on stderr and false.
[[nodiscard]] bool choose_provider(Endpoint& endpoint, const fabric::Address& own,
                                   const char* command);

// One of the two kinds.
struct OpenProvider {
  std::unique_ptr<fabric::Provider> provider;  // null: there is none to be had
  const soft::SoftProvider* soft = nullptr;    // the same, if it is of that kind
  std::string device;                          // else its device

  explicit operator bool() const { return provider != nullptr; }
};
// A provider on this address; a line on stderr and nothing when there is none to be had. `tracer`:
// who is told what happens to its packets; null: nobody.
[[nodiscard]] OpenProvider open_provider(const Endpoint& endpoint, const fabric::Address& address,
                                         trace::Tracer* tracer, const char* command);

// HOST and --from of the commands that call. Over soft, a server and a client on one machine both
// need UDP port 4791, so their addresses differ.
struct Peers {
  fabric::Address server;
  fabric::Address from;
  bool from_was_chosen = false;
};
// Chooses the provider, too.
[[nodiscard]] std::optional<Peers> parse_peers(const std::string& host, const std::string& from,
                                               Endpoint& endpoint, const char* command);
void add_peers(command_line::Command& command, std::string& host, std::string& from);

// A duration, a size, as an option has it; else a line on stderr and nothing.
[[nodiscard]] std::optional<fabric::Time> duration_option(const std::string& text,
                                                          const char* command, const char* option);
[[nodiscard]] std::optional<std::uint32_t> size_option(const std::string& text, const char* command,
                                                       const char* option,
                                                       std::uint32_t most = UINT32_MAX);

// Else a line on stderr and false.
[[nodiscard]] bool in_range(std::uint32_t value, std::uint32_t least, std::uint32_t most,
                            const char* command, const char* option);

// How long a connection may take to be made by a command whose Calls may take `timeout`.
[[nodiscard]] fabric::Time connect_timeout(fabric::Time timeout);

// "127.0.0.1 port 20049"
[[nodiscard]] std::string server_text(const fabric::Address& address, std::uint16_t port);

}  // namespace rpcrdma::cli
