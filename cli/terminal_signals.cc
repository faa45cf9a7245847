#include "terminal_signals.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace rpcrdma::cli {

namespace {

constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP};

// Each byte in the pipe is the number of a signal.
std::array<int, 2> signal_pipe{-1, -1};

void note_signal(int signal) {
  const int error = errno;
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t n = ::write(signal_pipe[1], &byte, 1);
  errno = error;
}

}  // namespace

TerminalSignals::TerminalSignals() {
  if (::pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int signal : {SIGWINCH, SIGTSTP}) sigaction(signal, &action, nullptr);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kEnding) sigaction(signal, &action, nullptr);
}

TerminalSignals::~TerminalSignals() {
  for (const int signal : {SIGWINCH, SIGTSTP}) std::signal(signal, SIG_DFL);
  for (const int signal : kEnding) std::signal(signal, SIG_DFL);
  for (int& fd : signal_pipe) {
    ::close(fd);
    fd = -1;
  }
}

int TerminalSignals::fd() {
  return signal_pipe[0];
}

int TerminalSignals::take() {
  char byte = 0;
  return ::read(signal_pipe[0], &byte, 1) == 1 ? byte : 0;
}

}  // namespace rpcrdma::cli
