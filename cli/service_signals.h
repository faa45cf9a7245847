// What an operator asks of a running service by signals: SIGHUP, to read the configuration again;
// SIGUSR1, to open files again that another program has renamed.
#pragma once

#include <span>

#include <rpcrdma/service/loop.h>

namespace rpcrdma::cli {

// While it exists, these signals are recorded and wake the loops. Only one can exist at a time, and
// within an Interrupt (interrupt.h), which otherwise has SIGHUP.
class ServiceSignals {
 public:
  // `reload`: false leaves SIGHUP as it is.
  ServiceSignals(std::span<service::Loop* const> loops, bool reload);
  ~ServiceSignals();
  ServiceSignals(const ServiceSignals&) = delete;
  ServiceSignals& operator=(const ServiceSignals&) = delete;

  // Return whether the signal has come since the last call.
  [[nodiscard]] static bool take_reload();
  [[nodiscard]] static bool take_rotate();
};

}  // namespace rpcrdma::cli
