// Signals of a program that draws on the whole terminal: its size changes, it is stopped by Ctrl-Z,
// it ends.
#pragma once

namespace rpcrdma::cli {

// While it exists, SIGWINCH, SIGTSTP, SIGINT, SIGTERM and SIGHUP are read from a pipe. A second
// SIGINT, SIGTERM or SIGHUP ends the program at once. Only one can exist at a time.
class TerminalSignals {
 public:
  TerminalSignals();
  ~TerminalSignals();
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;

  // Readable when there is a signal.
  [[nodiscard]] static int fd();
  // Returns the next signal, or 0.
  [[nodiscard]] static int take();
};

}  // namespace rpcrdma::cli
