#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>

#include <rpcrdma/base/child_process.h>

namespace rpcrdma::base {
namespace {

struct Pipe {
  FileDescriptor read, write;
};

Expected<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

Expected<ChildProcess> ChildProcess::start(const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty()) return fail("no program to start");
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  for (const auto* const pipe : {&input, &output, &errors}) {
    if (!*pipe) return tl::unexpected(pipe->error());
  }
  SpawnSettings settings;
  ::posix_spawn_file_actions_adddup2(&settings.actions, input->read.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.actions, output->write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.actions, errors->write.get(), STDERR_FILENO);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ChildProcess child;
  const int error = ::posix_spawnp(&child.id_, words[0].c_str(), &settings.actions,
                                   &settings.attributes, arguments.data(), environ);
  if (error != 0) {
    child.id_ = -1;
    return fail(fmt::format("{}: {}", words[0], std::strerror(error)));
  }
  child.input = std::move(input->write);
  child.output = std::move(output->read);
  child.errors = std::move(errors->read);
  return child;
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  signal(SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept {
  *this = std::move(other);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(input, other.input);
  std::swap(output, other.output);
  std::swap(errors, other.errors);
  std::swap(id_, other.id_);
  std::swap(status_, other.status_);
  return *this;
}

std::optional<int> ChildProcess::ended() {
  if (id_ < 0) return status_.value_or(0);
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) == id_) {
    status_ = status;
    id_ = -1;
  }
  return status_;
}

void ChildProcess::signal(int number) const {
  if (id_ > 0) ::kill(-id_, number);
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return fmt::format("was ended by signal {} ({})", number, ::strsignal(number));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace rpcrdma::base
