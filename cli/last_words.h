// A line for standard error that must appear even if the program ends at once: when memory has run
// out, or from a signal handler. It allocates nothing when it is printed.
#pragma once

#include <atomic>
#include <string>

namespace rpcrdma::cli {

// While it exists, `pending` decides whether the line is still to be printed. Only one can exist at
// a time.
class LastWords {
 public:
  // `line`: without control characters and line end.
  explicit LastWords(const std::string& line);
  // Prints the line if it is pending.
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  std::atomic<bool> pending{false};

  // Prints the line of the one that exists, if it is pending. For signal handlers, too.
  static void say() noexcept;

 private:
  const std::string line_;
};

}  // namespace rpcrdma::cli
