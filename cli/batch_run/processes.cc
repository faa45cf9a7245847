#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/batch_run/runner.h>

namespace rpcrdma::batch_run {

namespace {

constexpr std::size_t kMostText = std::size_t{16} << 10;  // kept of a process
constexpr int kTickMs = 100;

struct Process {
  std::string name;
  pid_t id = -1;
  base::FileDescriptor output;
  std::string text;
};

[[noreturn]] void become(const std::vector<std::string>& words, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it ended before
  std::signal(SIGXFSZ, SIG_DFL);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  std::fprintf(stderr, "%s: %s\n", arguments.front(), std::strerror(errno));
  std::fflush(stderr);
  ::_exit(127);
}

Process start(const std::vector<std::string>& words) {
  Process process;
  process.name = words.front();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    process.text = fmt::format("cannot create a pipe: {}\n", std::strerror(errno));
    return process;
  }
  process.output = base::FileDescriptor(ends[0]);
  const base::FileDescriptor write(ends[1]);
  const pid_t parent = ::getpid();
  process.id = ::fork();
  if (process.id == 0) become(words, write.get(), parent);
  if (process.id < 0) {
    process.text = fmt::format("cannot start a process: {}\n", std::strerror(errno));
    process.output.reset();
  }
  return process;
}

void read_output(Process& process) {
  std::array<char, 4096> piece{};
  const ssize_t n = ::read(process.output.get(), piece.data(), piece.size());
  if (n > 0) {
    process.text.append(piece.data(), static_cast<std::size_t>(n));
    if (process.text.size() > 2 * kMostText) {
      process.text.erase(0, process.text.size() - kMostText);
    }
  } else if (n == 0 || errno != EINTR) {
    process.output.reset();
  }
}

void add_lines(const std::string& text, std::vector<std::string>& lines) {
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (!line.empty()) lines.emplace_back(line);
  }
}

}  // namespace

Said run_all(const std::vector<std::vector<std::string>>& lines,
             const std::function<void()>& tick) {
  std::vector<Process> processes;
  for (const auto& words : lines) processes.push_back(start(words));
  while (true) {
    std::vector<pollfd> waited;
    std::vector<Process*> of;
    for (Process& process : processes) {
      if (process.output.get() < 0) continue;
      waited.push_back({process.output.get(), POLLIN, 0});
      of.push_back(&process);
    }
    if (waited.empty()) break;
    ::poll(waited.data(), waited.size(), kTickMs);
    for (std::size_t i = 0; i < waited.size(); ++i) {
      if (waited[i].revents != 0) read_output(*of[i]);
    }
    tick();
  }
  Said said;
  for (Process& process : processes) {
    int status = 0;
    while (process.id > 0 && ::waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
    }
    add_lines(process.text, said.lines);
    if (process.id > 0 && WIFSIGNALED(status)) {
      said.ended_badly = fmt::format("{} was ended by signal {}", process.name, WTERMSIG(status));
    } else if (process.id > 0 && WEXITSTATUS(status) != 0 && process.text.empty()) {
      said.ended_badly = fmt::format("{} ended with status {}", process.name, WEXITSTATUS(status));
    }
  }
  return said;
}

}  // namespace rpcrdma::batch_run
