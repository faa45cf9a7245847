// A child process with a pipe to each of its standard streams, such as an ssh client.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::base {

// Runs in a process group of its own: Ctrl-C at the terminal reaches only its starter, which then
// ends it in its own way. Signals have their default actions there, and none is blocked.
class ChildProcess {
 public:
  // Starts `words`; the first is a path, or a name that is searched in PATH. Error: it cannot be
  // executed, or the system has no free descriptor or process.
  [[nodiscard]] static Expected<ChildProcess> start(const std::vector<std::string>& words);
  // Kills the group if the process has not ended, and waits for the process.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  // This end of the pipes. The owner may close them, or make them non-blocking.
  FileDescriptor input;   // its standard input
  FileDescriptor output;  // its standard output
  FileDescriptor errors;  // its standard error

  [[nodiscard]] pid_t id() const { return id_; }
  // The status of waitpid() if the process has ended. Does not wait.
  [[nodiscard]] std::optional<int> ended();
  // Sends a signal to the process and to all others of its group, unless the process has ended.
  void signal(int number) const;

 private:
  ChildProcess() = default;

  pid_t id_ = -1;
  std::optional<int> status_;
};

// "ended with status 255", "was ended by signal 9 (Killed)"
[[nodiscard]] std::string describe_wait_status(int status);

}  // namespace rpcrdma::base
