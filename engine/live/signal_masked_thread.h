// Starts threads that receive no signals: signals belong to the program, and writing to a closed
// pipe is an ordinary error.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace rpcrdma::trace {

// Blocks the calling thread's signals during its lifetime; threads started meanwhile inherit that.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

// Throws std::system_error when the system has no thread left.
template <typename Body>
[[nodiscard]] std::thread start_signal_masked_thread(Body&& body) {
  const SignalsWait wait;
  return std::thread(std::forward<Body>(body));
}

}  // namespace rpcrdma::trace
