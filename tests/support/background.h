// Runs the command rpcrdma in the background, at most until the end of the test.
#pragma once

#include "command.h"

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {

class Background {
 public:
  // Collects its output in `out`; if `file` is given, standard output goes there. `program`:
  // another program, by path or name.
  explicit Background(const std::vector<std::string>& arguments, const std::string& file = {},
                      std::string program = RPCRDMA_COMMAND) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const int output =
          file.empty() ? ends[1] : ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(output, STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::unsetenv("SUDO_UID");  // captures would become that user's
      ::alarm(100);            // a hang is a failure
      std::vector<char*> argv;
      argv.push_back(program.data());
      std::vector<std::string> copies = arguments;
      for (std::string& argument : copies) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execvp(program.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    end_ = ends[0];
  }
  ~Background() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      finish();
    }
    ::close(end_);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits until `out` contains `text`; returns false if the program ends before.
  bool wait_for(const std::string& text) {
    char c = 0;
    while (out.find(text) == std::string::npos) {
      if (::read(end_, &c, 1) != 1) return false;
      out += c;
    }
    return true;
  }

  [[nodiscard]] pid_t id() const { return child_; }
  void signal(int number) const { ::kill(child_, number); }

  // Waits for the end; returns the exit status, or 128 plus the signal.
  int finish() {
    char c = 0;
    while (::read(end_, &c, 1) == 1) out += c;
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string out;

 private:
  pid_t child_ = -1;
  int end_ = -1;
};

}  // namespace rpcrdma::e2e
