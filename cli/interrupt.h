// Clean shutdown by Ctrl-C.
#pragma once

#include <span>

#include <rpcrdma/service/loop.h>

namespace rpcrdma::cli {

// While it exists, SIGINT, SIGTERM and SIGHUP are recorded and wake the loops; a second one ends
// the program. Only one can exist at a time.
class Interrupt {
 public:
  explicit Interrupt(std::span<service::Loop* const> loops);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Thread-safe.
  [[nodiscard]] static bool came();
  // Ends the program's work as a signal does. Thread-safe.
  static void request();
};

}  // namespace rpcrdma::cli
