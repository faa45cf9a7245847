// The whole terminal, for a view that keeps drawing it anew.
#pragma once

#include <string>
#include <vector>

#include <termios.h>

#include <rpcrdma/top/draw.h>

namespace rpcrdma::cli {

// Why standard input and output are no terminal that can be drawn on; null: they are one.
[[nodiscard]] const char* why_no_screen();

// While it lives, keys come one at a time and unseen, lines are drawn on the terminal's other
// screen, and the cursor is hidden. Then all is as it was. Signals come as before.
class Screen {
 public:
  Screen();
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Gives the terminal back for a while, and takes it again.
  void leave();
  void enter();

  [[nodiscard]] static top::Size size();
  // Draws the lines that differ from those that stand there. False: the terminal is gone, or a
  // signal came while it took no more.
  bool show(const std::vector<top::Line>& lines);
  // What stands there is not known any more: the size has changed.
  void forget() { shown_.clear(); }

 private:
  termios before_{};
  bool entered_ = false;
  bool colour_;
  std::vector<std::string> shown_;
};

}  // namespace rpcrdma::cli
