// Requests a recording from a host's agent, and writes it to a file here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::fleet {

struct FetchOptions {
  std::string host;
  std::string endpoint;  // name or process ID; empty: the only one of the host
  std::int64_t duration_ns = 0;
  std::uint64_t most_bytes = 0;
  std::string file;                        // empty: HOST-ENDPOINT.pcapng
  std::function<bool()> interrupted = {};  // whether the user wants no more of it; may be empty
  // Called once when the recording has begun.
  std::function<void(const std::string& endpoint)> begun = {};
};

struct Fetched {
  std::string file;
  std::string endpoint;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0, lost = 0;
  std::string ended_early;  // why; empty: it was not
};

// Waits for the whole recording. The file appears under its name only when it is whole, with a
// correct checksum. Errors, one line: no agent; it refuses or fails; it does not answer; the file
// cannot be written; interrupted.
[[nodiscard]] base::Expected<Fetched> fetch(Bus& bus, const FetchOptions& options);

}  // namespace rpcrdma::fleet
