// Controls the whole terminal, for a view that redraws continuously.
#pragma once

#include <string>
#include <vector>

#include <termios.h>

#include <rpcrdma/top/draw.h>

namespace rpcrdma::cli {

// Returns why standard input and output are not a terminal that supports drawing; null if they are.
[[nodiscard]] const char* why_no_screen();

// While it exists, keys are read one at a time without echo, lines are drawn on the terminal's
// alternate screen, and the cursor is hidden. The destructor restores everything. Signals are not
// affected.
class Screen {
 public:
  Screen();
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Restores the terminal temporarily, and takes control of it again.
  void leave();
  void enter();

  [[nodiscard]] static top::Size size();
  // Draws the lines that differ from those on the screen. Returns false if the terminal is gone, or
  // a signal arrived while it was not accepting output.
  bool show(const std::vector<top::Line>& lines);
  // Forgets what is on the screen, because its size has changed.
  void forget() { shown_.clear(); }

 private:
  termios before_{};
  bool entered_ = false;
  bool colour_;
  std::vector<std::string> shown_;
};

}  // namespace rpcrdma::cli
