// Starts the program rpcrdma-kernel, which traces the kernel, for the time of one reader. The
// program needs privileges, from sudo or by its file capabilities, and gives them up itself
// (docs/kernel.md); its starter needs none.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::kernel {

// The name under which the program is an endpoint.
inline constexpr const char* kEndpointName = "kernel";

// A running rpcrdma-kernel, which ends with this object, and also if this process dies.
class Launched {
 public:
  // Starts the program with these options, and waits until its live socket is open. Error: why the
  // kernel cannot be traced, and what to do.
  [[nodiscard]] static base::Expected<Launched> start(const std::vector<std::string>& options);
  ~Launched();
  Launched(Launched&& other) noexcept;
  Launched& operator=(Launched&& other) noexcept;

  [[nodiscard]] const std::string& socket() const { return socket_; }  // path
  // What it has printed for people so far, and not been asked for: whole lines. Escaped.
  [[nodiscard]] std::string said();
  // Ends it, waits a few seconds for that, and returns what else it printed.
  std::string end();
  // Whether it ended by itself, with an error. Known after end().
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Launched() = default;

  pid_t process_ = -1;
  base::FileDescriptor input_;   // the program ends when this end is closed
  base::FileDescriptor errors_;  // its standard error
  std::string socket_;
  std::string unread_;
  bool failed_ = false;
};

}  // namespace rpcrdma::kernel
