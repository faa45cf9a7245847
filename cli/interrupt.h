// Ctrl-C of commands that are to end in good order.
#pragma once

#include <span>

#include <rpcrdma/service/loop.h>

namespace rpcrdma::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP are noted and wake the loops; a second one ends the
// program. One at a time.
class Interrupt {
 public:
  explicit Interrupt(std::span<service::Loop* const> loops);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // For any thread.
  [[nodiscard]] static bool came();
};

}  // namespace rpcrdma::cli
