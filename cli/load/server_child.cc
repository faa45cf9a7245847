#include "load/server_child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::cli {
namespace {

constexpr std::size_t kMostLines = 64 << 10;
constexpr int kPatienceMs = 3000;  // for a server that is asked to end

std::string program() {
  std::error_code failed;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = own.parent_path() / "rpcrdma";
  return !failed && std::filesystem::exists(beside, failed) ? beside.string() : "rpcrdma";
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

}  // namespace

tl::expected<ServerChild, std::string> ServerChild::start(
    const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program(), "serve"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(fmt::format("cannot start a server: {}", std::strerror(errno)));
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(argv[0], argv.data());
    const char* const why = std::strerror(errno);
    (void)!::write(STDERR_FILENO, argv[0], std::strlen(argv[0]));
    (void)!::write(STDERR_FILENO, ": ", 2);
    (void)!::write(STDERR_FILENO, why, std::strlen(why));
    ::_exit(127);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return tl::unexpected(fmt::format("cannot start a server: {}", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return ServerChild(child, ends[0]);
}

ServerChild::ServerChild(ServerChild&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      output_(std::exchange(other.output_, -1)),
      lines_(std::move(other.lines_)),
      listens_(other.listens_) {}

ServerChild::~ServerChild() {
  if (child_ > 0) {
    ::kill(child_, SIGTERM);
    // It closes the pipe when it ends.
    std::array<char, 4096> bytes{};
    pollfd end{output_, POLLIN, 0};
    while (::poll(&end, 1, kPatienceMs) > 0 && ::read(output_, bytes.data(), bytes.size()) > 0) {
    }
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

std::optional<tl::expected<void, std::string>> ServerChild::poll() {
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t n = ::read(output_, bytes.data(), bytes.size());
    if (n > 0) {
      lines_.append(bytes.data(), static_cast<std::size_t>(n));
      listens_ = listens_ || lines_.find("listening on ") != std::string::npos;
      if (lines_.size() > kMostLines) lines_.erase(0, lines_.size() - kMostLines);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (!listens_) return std::nullopt;
      return tl::expected<void, std::string>{};
    }
    return tl::expected<void, std::string>(tl::unexpect,
                                           fmt::format("the server ended: {}", last_line(lines_)));
  }
}

}  // namespace rpcrdma::cli
