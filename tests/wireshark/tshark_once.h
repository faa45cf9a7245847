// Runs the preloaded tshark, started once for all command lines of this process: see start_once.cc.
#pragma once

#include "start_once.h"
#include "tshark.h"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace rpcrdma::wireshark_tests {

class TsharkOnce {
 public:
  // With the plugin, and without.
  static const TsharkOnce& with_plugin() {
    static const TsharkOnce one(Tshark::kWithPlugin);
    return one;
  }
  static const TsharkOnce& plain() {
    static const TsharkOnce one(Tshark::kPlain);
    return one;
  }

  // The file name that tshark gets. It reads `-r` before its dissectors are registered, so one link
  // serves for all files.
  [[nodiscard]] const std::string& link() const { return link_; }

  // Like `tshark -r FILE ARGUMENTS...`; -V, -x, -O and -C are not supported.
  [[nodiscard]] Result run(const std::string& file,
                           const std::vector<std::string>& arguments) const {
    std::filesystem::remove(link_);
    std::filesystem::create_symlink(file, link_);
    for (const int fd : {output_, errors_}) {
      EXPECT_EQ(::ftruncate(fd, 0), 0);
      EXPECT_EQ(::lseek(fd, 0, SEEK_SET), 0);
    }
    std::string line;
    for (const std::string& word : {std::string("-r"), link_}) line += word + kSeparator;
    for (const std::string& word : arguments) line += word + kSeparator;
    line.back() = '\n';
    int status = -1;
    if (::write(lines_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
        ::read(status_, &status, sizeof status) != sizeof status) {
      ADD_FAILURE() << "tshark has ended: " << whole(errors_);
      return {};
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), whole(output_),
            whole(errors_)};
  }

  TsharkOnce(const TsharkOnce&) = delete;
  TsharkOnce& operator=(const TsharkOnce&) = delete;

 private:
  static constexpr char kSeparator = start_once::kSeparator;

  explicit TsharkOnce(const std::string& plugins)
      : link_(Tshark::instance().file(plugins + ".capture")),
        output_(scratch_file()),
        errors_(scratch_file()) {
    std::vector<std::string> command = Tshark::instance().command(plugins);
    command.insert(command.end() - 1, "LD_PRELOAD=" + Tshark::instance().start_once());
    command.insert(command.end(), {"-r", link_});
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> lines{}, status{};
    EXPECT_EQ(::pipe2(lines.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(status.data(), O_CLOEXEC), 0);
    lines_ = lines[1];
    status_ = status[0];
    child_ = ::fork();
    if (child_ == 0) {
      // No source descriptor is also a target.
      std::array<int, 4> from{lines[0], output_, errors_, status[1]};
      for (int& fd : from) fd = ::fcntl(fd, F_DUPFD, start_once::kStatus + 1);
      const std::array<int, 4> to{STDIN_FILENO, start_once::kOutput, start_once::kErrors,
                                  start_once::kStatus};
      for (std::size_t i = 0; i < from.size(); ++i) {
        ::dup2(from[i], to[i]);
        ::close(from[i]);
      }
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(lines[0]);
    ::close(status[1]);
  }
  // tshark ends with its input.
  ~TsharkOnce() {
    ::close(lines_);
    ::waitpid(child_, nullptr, 0);
    for (const int fd : {status_, output_, errors_}) ::close(fd);
  }

  static int scratch_file() {
    const int fd = ::memfd_create("tshark", MFD_CLOEXEC);
    EXPECT_GE(fd, 0);
    return fd;
  }
  static std::string whole(int fd) {
    std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  std::string link_;
  int output_ = -1, errors_ = -1;  // files
  int lines_ = -1, status_ = -1;   // pipes
  pid_t child_ = -1;
};

}  // namespace rpcrdma::wireshark_tests
