#include "screen.h"

#include "colour.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rpcrdma::cli {

namespace {

// Alternate screen, no cursor, no line wrap.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?7h\033[?25h\033[?1049l";
constexpr std::string_view kClear = "\033[2J";

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

const char* why_no_screen() {
  if (::isatty(STDIN_FILENO) == 0) return "standard input is not a terminal";
  if (::isatty(STDOUT_FILENO) == 0) return "standard output is not a terminal";
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::strcmp(term, "dumb") == 0) {
    return "the terminal does not support drawing (TERM)";
  }
  return nullptr;
}

Screen::Screen() : colour_(colour_wanted(stdout)) {
  ::tcgetattr(STDIN_FILENO, &before_);
  enter();
}

void Screen::enter() {
  termios mode = before_;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  // Ctrl-S must not stop the drawing.
  mode.c_iflag &= ~static_cast<tcflag_t>(IXON);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
  entered_ = true;
  forget();
  write_all(kEnter);
}

void Screen::leave() {
  if (!entered_) return;
  entered_ = false;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

top::Size Screen::size() {
  constexpr std::size_t kMost = 1000;
  winsize w{};
  top::Size size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col != 0 && w.ws_row != 0) {
    size = {w.ws_col, w.ws_row};
  }
  return {std::min(size.width, kMost), std::min(size.height, kMost)};
}

bool Screen::show(const std::vector<top::Line>& lines) {
  std::string out;
  if (shown_.size() != lines.size()) {
    shown_.assign(lines.size(), {});
    out = kClear;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = top::ansi(lines[i], colour_);
    if (line == shown_[i]) continue;
    out += fmt::format("\033[{};1H{}", i + 1, line);
    shown_[i] = std::move(line);
  }
  return write_all(out);
}

}  // namespace rpcrdma::cli
