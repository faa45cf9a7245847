// Lists the user's endpoints as Wireshark interfaces: one for each endpoint's events, and one for
// its packets if it runs on the soft fabric; and Linux's own NFS/RDMA, which is traced on demand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/kernel_launch/launch.h>
#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::extcap {

// The interface of the kernel, which is always listed.
inline constexpr std::string_view kKernelInterface = "rpcrdma.kernel";

// "rpcrdma.serve.4711", or "rpcrdma.serve.4711.packets": derived from the name of the socket's
// file.
[[nodiscard]] std::string events_interface(const trace::RunningEndpoint& endpoint);
[[nodiscard]] std::string packets_interface(const trace::RunningEndpoint& endpoint);
[[nodiscard]] bool is_packets_interface(std::string_view interface);
// Returns whether the text has the form of an interface's name.
[[nodiscard]] bool is_interface(std::string_view interface);

// The answers to extcap's queries.
[[nodiscard]] std::string list_interfaces(const std::vector<trace::RunningEndpoint>& endpoints);
[[nodiscard]] std::string list_link_types(std::string_view interface);
[[nodiscard]] std::string list_options(std::string_view interface);

// A connection to an endpoint, and the kernel's endpoint itself if it was started for it. The
// latter ends with this object.
struct Connected {
  base::FileDescriptor fd;
  std::optional<kernel::Launched> kernel = {};
};
// Errors are messages for the user: the endpoint does not run, or refuses the connection; the
// kernel cannot be traced.
[[nodiscard]] tl::expected<Connected, std::string> connect(const std::string& interface);

}  // namespace rpcrdma::extcap
