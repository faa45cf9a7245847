// The endpoints of this user that run on this machine and can be read (hub.h): their sockets are in
// $XDG_RUNTIME_DIR/rpcrdma, or where there is no such variable in /tmp/rpcrdma-UID.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

// Of an endpoint at a time; of its packets as many again.
inline constexpr std::size_t kMostReaders = 16;

struct RunningEndpoint {
  std::string name;
  std::uint32_t process = 0;  // its ID
  std::string path;           // of its socket
  std::string packets;        // of the socket where its packets are; empty: there is none
  std::string role;           // as it tells; empty when it does not answer
  std::int64_t since = 0;     // the epoch, ns; 0 when it does not answer
  std::string fault = {};     // when it does not answer: why, such as "does not answer"
};

// What endpoints are given to answer in, all together.
inline constexpr std::chrono::nanoseconds kEndpointPatience = std::chrono::milliseconds(250);

// In order of names and processes. Sockets that nobody listens at any more are removed; those that
// this user has not made are passed over. Whatever comes from the others, all are asked within
// `patience`: one that does not say by then what it is has a `fault`. Names and roles may be
// anything, of a bounded length: they are to be escaped. Error: the folder is not to be trusted.
[[nodiscard]] base::Expected<std::vector<RunningEndpoint>> list_endpoints(
    std::chrono::nanoseconds patience = kEndpointPatience);

// The same by the names of their sockets alone, without asking them, which they do not notice: one
// that a killed endpoint left is among them. `role`, `since` and `fault` are not filled.
[[nodiscard]] base::Expected<std::vector<RunningEndpoint>> find_endpoints();

// `which`: a name, a process ID, or the path of a socket, which has a slash in it. What comes from
// it is for a capture::LiveStream with live_check(). Errors: there is none, or several of that
// name; it cannot be connected to, or has as many readers as it takes, which one that does not say
// anything within `patience` is believed not to have.
[[nodiscard]] base::Expected<base::FileDescriptor> connect_endpoint(
    const std::string& which, std::chrono::nanoseconds patience = kEndpointPatience);

// The same for its packets. Another error: it has none to show, since its provider is a device.
[[nodiscard]] base::Expected<base::FileDescriptor> connect_packets(
    const std::string& which, std::chrono::nanoseconds patience = kEndpointPatience);

// A path of a socket where an endpoint's packets are.
[[nodiscard]] bool is_packet_socket(const std::string& path);

}  // namespace rpcrdma::trace
