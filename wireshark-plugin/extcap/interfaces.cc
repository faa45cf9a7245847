#include "interfaces.h"

#include "kinds.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::extcap {
namespace {

using trace::RunningEndpoint;

constexpr std::string_view kPrefix = "rpcrdma.";
constexpr std::string_view kPackets = ".packets";
constexpr std::string_view kSocket = ".sock";

// Converts "/run/user/1000/rpcrdma/serve.4711.sock".
std::string interface_of(const std::string& path) {
  std::string_view file = path;
  file.remove_prefix(file.rfind('/') + 1);
  if (file.ends_with(kSocket)) file.remove_suffix(kSocket.size());
  return fmt::format("{}{}", kPrefix, file);
}

// Escapes a text for a sentence in braces, which must be one line.
std::string in_braces(const std::string& text) {
  std::string one_line = text;
  std::ranges::replace_if(
      one_line, [](char c) { return (c >= 0 && c < ' ') || c == '{' || c == '}' || c == 0x7f; },
      '_');
  // tshark -D prints it on a terminal.
  one_line = plot::escape_terminal(one_line);
  std::ranges::replace(one_line, '\\', '_');
  return one_line;
}

std::string display(const RunningEndpoint& e, const char* what) {
  const std::string role = e.since != 0 ? e.role : e.fault;
  return in_braces(fmt::format("{} of {}: {}{}process {}", what, e.name, role,
                               role.empty() ? "" : ", ", e.process));
}

std::string unknown(const std::string& interface) {
  return fmt::format(
      "{}: no endpoint of this user with that name is running; refresh the list of interfaces",
      interface);
}

// Starts the kernel's endpoint if none runs.
tl::expected<Connected, std::string> connect_kernel() {
  const auto endpoints = trace::list_endpoints();
  if (!endpoints) return tl::unexpected(endpoints.error().message);
  const auto running = std::ranges::find(*endpoints, kernel::kEndpointName, &RunningEndpoint::name);
  if (running != endpoints->end()) {
    auto fd = trace::connect_endpoint(running->path);
    if (!fd) return tl::unexpected(fd.error().message);
    return Connected{std::move(*fd)};
  }
  auto started = kernel::Launched::start({});
  if (!started) return tl::unexpected(started.error().message);
  auto fd = trace::connect_endpoint(started->socket());
  if (!fd) return tl::unexpected(fd.error().message);
  return Connected{std::move(*fd), std::move(*started)};
}

}  // namespace

std::string events_interface(const RunningEndpoint& endpoint) {
  return interface_of(endpoint.path);
}

std::string packets_interface(const RunningEndpoint& endpoint) {
  return interface_of(endpoint.packets);
}

bool is_packets_interface(std::string_view interface) {
  return interface.ends_with(kPackets);
}

bool is_interface(std::string_view interface) {
  return interface.starts_with(kPrefix) && interface.size() > kPrefix.size();
}

std::string list_interfaces(const std::vector<RunningEndpoint>& endpoints) {
  std::string text = "extcap {version=" RPCRDMA_VERSION "}{display=RPC-over-RDMA endpoints}\n";
  const auto add = [&text](const std::string& interface, const std::string& display) {
    text += fmt::format("interface {{value={}}}{{display={}}}\n", interface, display);
  };
  add(std::string(kKernelInterface), "Linux NFS/RDMA (kernel)");
  for (const RunningEndpoint& e : endpoints) {
    add(events_interface(e), display(e, "RPC-over-RDMA events"));
    if (!e.packets.empty()) add(packets_interface(e), display(e, "RoCEv2 packets"));
  }
  return text;
}

std::string list_link_types(std::string_view interface) {
  return is_packets_interface(interface)
             ? "dlt {number=1}{name=EN10MB}{display=RoCEv2 packets in Ethernet frames}\n"
             : "dlt {number=252}{name=WIRESHARK_UPPER_PDU}{display=RPC-over-RDMA events}\n";
}

std::string list_options(std::string_view interface) {
  const bool packets = is_packets_interface(interface);
  std::string text = fmt::format(
      "arg {{number=0}}{{call=--snaplen}}{{display=Snap length}}{{type=unsigned}}{{range=0,65535}}"
      "{{default=0}}{{tooltip=Bytes to keep of each {}; 0: all}}\n",
      packets ? "packet" : "message, and of the data of each RDMA Read and Write");
  if (packets) return text;
  text +=
      "arg {number=1}{call=--events}{display=Events}{type=multicheck}"
      "{tooltip=Event types to capture. Identity, connections and losses are always included}\n";
  for (const Kind& kind : kKinds) {
    text += fmt::format("value {{arg=1}}{{value={}}}{{display={}}}{{default=true}}\n", kind.name,
                        kind.label);
  }
  return text;
}

tl::expected<Connected, std::string> connect(const std::string& interface) {
  if (interface == kKernelInterface) return connect_kernel();
  const auto endpoints = trace::find_endpoints();
  if (!endpoints) return tl::unexpected(endpoints.error().message);
  for (const RunningEndpoint& e : *endpoints) {
    const bool packets = !e.packets.empty() && packets_interface(e) == interface;
    if (!packets && events_interface(e) != interface) continue;
    auto fd = packets ? trace::connect_packets(e.packets) : trace::connect_endpoint(e.path);
    if (!fd) return tl::unexpected(fd.error().message);
    return Connected{std::move(*fd)};
  }
  return tl::unexpected(unknown(interface));
}

}  // namespace rpcrdma::extcap
