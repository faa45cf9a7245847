// The server of a rank that others call: `rpcrdma serve` as a child process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <tl/expected.hpp>

namespace rpcrdma::cli {

class ServerChild {
 public:
  // Runs `rpcrdma serve` with these arguments: the program beside this one, else that of the PATH.
  // It dies with the calling thread, as that of a killed rank does. Error: one clause for display.
  [[nodiscard]] static tl::expected<ServerChild, std::string> start(
      const std::vector<std::string>& arguments);
  ~ServerChild();  // ends it
  ServerChild(ServerChild&& other) noexcept;
  ServerChild& operator=(ServerChild&&) = delete;

  // Nothing until it listens, or has ended: then its last line is in the error. Reads what it logs,
  // so call it again and again: a server whose log nobody reads stops.
  [[nodiscard]] std::optional<tl::expected<void, std::string>> poll();

 private:
  ServerChild(pid_t child, int output) : child_(child), output_(output) {}

  pid_t child_;
  int output_;         // nonblocking
  std::string lines_;  // the last that it printed
  bool listens_ = false;
};

}  // namespace rpcrdma::cli
