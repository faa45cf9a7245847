// Endpoints of this user as interfaces of Wireshark: of each its events, and where it runs over
// RDMA in user space its packets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::extcap {

// "rpcrdma.serve.4711", or "rpcrdma.serve.4711.packets": by the name of the socket's file.
[[nodiscard]] std::string events_interface(const trace::RunningEndpoint& endpoint);
[[nodiscard]] std::string packets_interface(const trace::RunningEndpoint& endpoint);
[[nodiscard]] bool is_packets_interface(std::string_view interface);
// It has the form of one.
[[nodiscard]] bool is_interface(std::string_view interface);

// What extcap answers are made of.
[[nodiscard]] std::string list_interfaces(const std::vector<trace::RunningEndpoint>& endpoints);
[[nodiscard]] std::string list_link_types(std::string_view interface);
[[nodiscard]] std::string list_options(std::string_view interface);

// Error, for a person: its endpoint does not run, or cannot be connected to.
[[nodiscard]] tl::expected<base::FileDescriptor, std::string> connect(const std::string& interface);

}  // namespace rpcrdma::extcap
