#pragma once

#include <chrono>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::cli {

// Shows on stderr how much of a long file has been read, if stderr is a terminal. Appears after
// half a second, and is erased at the end.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void tick(const capture::SourceStats& stats);

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace rpcrdma::cli
