// Finds and connects to this user's running endpoints on this machine (hub.h), for root to those of
// all users. Their sockets are in /run/rpcrdma/NAME if systemd started them, in
// $XDG_RUNTIME_DIR/rpcrdma, or in /tmp/rpcrdma-UID if that variable is not set.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

// Concurrent readers of one endpoint's events; its packets have as many readers of their own.
inline constexpr std::size_t kMostReaders = 16;

struct RunningEndpoint {
  std::string name;
  std::uint32_t process = 0;  // process ID
  std::string path;           // of its socket
  std::string packets;        // path of the socket that serves its packets; empty: none
  std::string role;           // as the endpoint states it; empty if it does not answer
  std::int64_t since = 0;     // start time, ns since the epoch; 0 if it does not answer
  std::string fault = {};     // why there is no answer, such as "does not answer"; else empty
  std::uint32_t uid = 0;      // of its user
  std::string user = {};      // the user's name; the number, if there is none
  // Where it serves its metrics over HTTP, as its process states: an address of this machine with a
  // port, "10.0.0.1:9464" or "[::]:9464". Another user can name any address. Empty: nowhere.
  std::string metrics = {};
};

// Time in which all endpoints together must answer.
inline constexpr std::chrono::nanoseconds kEndpointPatience = std::chrono::milliseconds(200);

// Endpoints of one other user that root sees at most.
inline constexpr std::size_t kMostOfOneUser = 64;

// Returns the endpoints, those of this user first, in order of names and process IDs. Removes this
// user's sockets without a listener and skips those that the folder's owner did not create. All
// others are queried and must identify themselves within `patience`, which root's own and those of
// each other user have for themselves; one that does not has a `fault`. All other users together
// have four times as long. Names and roles are untrusted data of bounded length: escape them before
// display. Error: the folder is not safe to use.
[[nodiscard]] base::Expected<std::vector<RunningEndpoint>> list_endpoints(
    std::chrono::nanoseconds patience = kEndpointPatience);

// Returns the endpoints by the names of their sockets alone. It does not query them, so they do not
// notice, and the socket of a killed endpoint may be among them. `role`, `since` and `fault` stay
// empty.
[[nodiscard]] base::Expected<std::vector<RunningEndpoint>> find_endpoints();

// Connects to an endpoint. `which`: a name, a process ID, or the path of a socket, which contains a
// slash. Read the stream with a capture::LiveStream and live_check(). Errors: there is no such
// endpoint, or several have this name; the connection fails; the endpoint has its maximum number of
// readers. If it sends nothing within `patience`, it is assumed to have room for a reader.
[[nodiscard]] base::Expected<base::FileDescriptor> connect_endpoint(
    const std::string& which, std::chrono::nanoseconds patience = kEndpointPatience);

// Connects to the packet socket of an endpoint in the same way. Additional error: the endpoint has
// no packets, since its provider is a device.
[[nodiscard]] base::Expected<base::FileDescriptor> connect_packets(
    const std::string& which, std::chrono::nanoseconds patience = kEndpointPatience);

// Connects to an endpoint that was listed or found, to its packets if `packets`. Errors: as above;
// another user's socket has been replaced, or is not served by that user's process.
[[nodiscard]] base::Expected<base::FileDescriptor> connect_running(
    const RunningEndpoint& endpoint, std::chrono::nanoseconds patience = kEndpointPatience,
    bool packets = false);

// Returns whether `path` is the path of a packet socket.
[[nodiscard]] bool is_packet_socket(const std::string& path);

}  // namespace rpcrdma::trace
