// What every command that speaks the protocol itself has in common: addresses, the user-space
// provider, and the options of both.
#pragma once

#include "tracing.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <rpcrdma/service/client.h>
#include <rpcrdma/soft/provider.h>

namespace rpcrdma::cli {

struct EndpointOptions {
  std::uint32_t port = 20049;
  std::string inline_threshold = "4Ki";
  bool no_private_data = false;
  std::vector<std::string> faults;
  std::string pcapng;
  bool exact = false;
  bool busy_poll = false;
  TracingOptions tracing;
};

// --port, --inline, --no-private-data, --fault, --pcapng, --exact, --busy-poll, and those of
// tracing.
void add_endpoint_options(CLI::App& app, EndpointOptions& options);

// The options that were text. On what makes no sense a line on stderr, which begins with the name
// of the command, and nothing.
struct Endpoint {
  std::uint16_t port = 0;
  std::uint32_t inline_threshold = 0;
  soft::ProviderOptions provider;  // but for the address
  fabric::Time spin = 0;
  TracingPlan tracing;
};
[[nodiscard]] std::optional<Endpoint> parse_endpoint(const EndpointOptions& options,
                                                     const char* command);

// A provider on this address; a line on stderr and null when there is none to be had. `tracer`: who
// is told what happens to its packets; null: nobody.
[[nodiscard]] std::unique_ptr<soft::SoftProvider> open_provider(const Endpoint& endpoint,
                                                                const fabric::Address& address,
                                                                trace::Tracer* tracer,
                                                                const char* command);

// HOST and --from of the commands that call. A server and a client on one machine both need UDP
// port 4791, so their addresses differ.
struct Peers {
  fabric::Address server;
  fabric::Address from;
  bool from_was_chosen = false;
};
[[nodiscard]] std::optional<Peers> parse_peers(const std::string& host, const std::string& from,
                                               const char* command);
void add_peers(CLI::App& app, std::string& host, std::string& from);

// A duration, a size, as an option has it; else a line on stderr and nothing.
[[nodiscard]] std::optional<fabric::Time> duration_option(const std::string& text,
                                                          const char* command, const char* option);
[[nodiscard]] std::optional<std::uint32_t> size_option(const std::string& text, const char* command,
                                                       const char* option);

// Else a line on stderr and false.
[[nodiscard]] bool in_range(std::uint32_t value, std::uint32_t least, std::uint32_t most,
                            const char* command, const char* option);

// "127.0.0.1 port 20049"
[[nodiscard]] std::string server_text(const fabric::Address& address, std::uint16_t port);

}  // namespace rpcrdma::cli
