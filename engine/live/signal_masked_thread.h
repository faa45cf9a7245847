// A thread that takes no signal: they are its program's, and a pipe that nobody reads any more is
// an error like others.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace rpcrdma::trace {

// The calling thread's signals wait as long as this lives; what it starts inherits that.
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
