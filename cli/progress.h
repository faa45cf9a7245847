#pragma once

#include <chrono>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::cli {

// A line on stderr that shows how far a long file has been read, when stderr is a terminal. Nothing
// is shown for the first half second, and the line is gone at the end.
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
