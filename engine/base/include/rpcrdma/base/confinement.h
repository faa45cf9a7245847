// Takes from this process, for good, what the decoding of an untrusted file does not need: a
// seccomp filter for system calls, and Landlock for files. A flaw in a decoder then cannot start
// programs, connect to anything, look into other processes, or touch other files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rpcrdma::base {

// What the process may still do with others.
enum class Processes : std::uint8_t {
  kNone,
  kEnd,    // wait for those that it started, and end them
  kStart,  // start a helper, too: for as long as files are opened that need one
};

struct Confinement {
  Processes processes = Processes::kNone;
  // For Landlock; without them files are not confined.
  bool files = false;
  std::vector<std::string> read;     // files that may be opened again
  std::vector<std::string> written;  // files, and folders, that may be created or overwritten
};

// The protection in force.
struct Confined {
  bool system_calls = false;
  bool files = false;
};

// Confines all threads to the allowed system calls, and this thread, with those that it starts
// later, to the files. What is not allowed fails with EPERM or EACCES; execve(), where no process
// may be started, and ptrace() end the process. Can be called again with less. Sets no_new_privs.
// What the kernel, the processor or a build with sanitizers does not support is left out.
Confined confine(const Confinement& to);

// What confine() can do here; confines nothing. `why_not`: of system calls, one clause.
struct ConfinementSupport {
  bool system_calls = false;
  std::string why_not;
  int landlock = 0;  // the kernel's version of it; 0: none
};
[[nodiscard]] ConfinementSupport confinement_support();

}  // namespace rpcrdma::base
