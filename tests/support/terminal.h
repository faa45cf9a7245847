// Runs the command rpcrdma, or another program, on a pseudo terminal that the test reads.
#pragma once

#include "command.h"

#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <utmp.h>

namespace rpcrdma::e2e {

class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& arguments, unsigned short columns = 80,
                    unsigned short lines = 24, std::string program = RPCRDMA_COMMAND) {
    const winsize size{lines, columns, 0, 0};
    EXPECT_EQ(::openpty(&own_, &other_, nullptr, nullptr, &size), 0);
    before_ = modes();
    child_ = ::fork();
    if (child_ == 0) {
      ::close(own_);
      ::login_tty(other_);
      ::setenv("TERM", "xterm", 1);
      ::setenv("LC_ALL", "C.UTF-8", 1);
      ::alarm(100);  // a hang is a failure
      std::vector<char*> argv{program.data()};
      std::vector<std::string> copies = arguments;
      for (std::string& argument : copies) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execvp(program.c_str(), argv.data());
      ::_exit(127);
    }
  }
  ~Terminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(own_);
    ::close(other_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Waits until the screen shows `text`; returns false if the program ends before.
  bool wait_for(const std::string& text) {
    while (screen().find(text) == std::string::npos) {
      if (!read()) return false;
    }
    return true;
  }
  void type(const std::string& keys) const {
    EXPECT_EQ(::write(own_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(unsigned short columns, unsigned short lines) {
    const winsize size{lines, columns, 0, 0};
    ::ioctl(own_, TIOCSWINSZ, &size);
  }
  void signal(int number) const { ::kill(child_, number); }
  // Returns the exit status, or 128 plus the signal.
  int finish() {
    while (read()) {
    }
    return status_;
  }

  // Returns the screen's lines from the first to the last one written. Text beyond the right edge
  // would appear in them, too.
  [[nodiscard]] std::string screen() const {
    std::vector<std::string> lines;
    std::size_t line = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i] == '\033') {
        const std::size_t end = all_.find_first_of("ABCDHJKhlm", i + 2);
        if (end == std::string::npos) break;
        if (all_[end] == 'J') lines.clear();
        if (all_[end] == 'H') {
          line = std::stoul(all_.substr(i + 2)) - 1;
          if (lines.size() <= line) lines.resize(line + 1);
          lines[line].clear();
        }
        i = end;
      } else if (line < lines.size()) {
        lines[line] += all_[i];
      }
    }
    std::string text;
    for (const std::string& l : lines) text += l + '\n';
    return text;
  }
  // All output.
  [[nodiscard]] const std::string& all() const { return all_; }
  // Compares the terminal's modes before and now.
  [[nodiscard]] bool modes_restored() const { return same(before_, modes()); }

 private:
  [[nodiscard]] termios modes() const {
    termios now{};
    ::tcgetattr(other_, &now);
    return now;
  }
  static bool same(const termios& a, const termios& b) {
    return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
           a.c_lflag == b.c_lflag;
  }

  // Reads more output; returns false when the program has ended. Output reaches this end with a
  // delay, so a mark is sent behind the program's last output.
  bool read() {
    if (ended_) return false;
    char bytes[4096];
    for (;;) {
      int waiting = 0;
      ::ioctl(own_, FIONREAD, &waiting);
      if (waiting > 0) break;
      int status = 0;
      if (child_ > 0 && ::waitpid(child_, &status, WNOHANG) == child_) {
        child_ = -1;
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (::write(other_, &kEnd, 1) != 1) return false;
      }
      ::usleep(1000);
    }
    const ssize_t n = ::read(own_, bytes, sizeof bytes);
    if (n <= 0) return false;
    all_.append(bytes, static_cast<std::size_t>(n));
    ended_ = all_.back() == kEnd;
    if (ended_) all_.pop_back();
    return !ended_;
  }

  static constexpr char kEnd = '\001';
  bool ended_ = false;
  int own_ = -1, other_ = -1;  // the second stays open to query its modes
  pid_t child_ = -1;
  int status_ = -1;
  termios before_{};
  std::string all_;
};

}  // namespace rpcrdma::e2e
