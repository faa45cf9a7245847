#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/helper_program.h>
#include <rpcrdma/kernel_launch/launch.h>

namespace rpcrdma::kernel {
namespace {

using base::Expected;
using base::fail;
using base::FileDescriptor;

constexpr const char* kProgram = "rpcrdma-kernel";
constexpr const char* kCapabilities = "cap_bpf,cap_perfmon,cap_sys_admin,cap_dac_read_search+ep";
constexpr std::size_t kMostText = std::size_t{64} << 10;  // of what it prints
constexpr std::int64_t kPatience = 5 * base::kSecond;     // for its end

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

// The descriptors 0, 1 and 2 of a new process in a process group of its own: Ctrl-C at the terminal
// ends its starter, which then ends it.
class Spawn {
 public:
  Spawn() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void give(const FileDescriptor& fd, int number) {
    ::posix_spawn_file_actions_adddup2(&actions_, fd.get(), number);
  }
  Expected<pid_t> run(const std::string& program, const std::vector<std::string>& options) {
    std::vector<std::string> words = options;
    words.insert(words.begin(), kProgram);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t process = -1;
    const int error = ::posix_spawn(&process, program.c_str(), &actions_, &attributes_,
                                    arguments.data(), environ);
    if (error != 0) return fail(fmt::format("{}: {}", program, std::strerror(error)));
    return process;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Reads what there is, without waiting; false at the end of the pipe.
bool read_some(const FileDescriptor& from, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (text.size() < kMostText) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n != 0;
}

// The last line, without the program's name.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t begin = text.rfind('\n');
  text.erase(0, begin == std::string::npos ? 0 : begin + 1);
  const std::string prefix = fmt::format("{}: ", kProgram);
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// What to do if privileges are missing: neither root nor capabilities of the file.
std::string advice(const std::string& program) {
  const bool has_capabilities = ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
  if (::geteuid() == 0 || has_capabilities) return {};
  return fmt::format("; it needs privileges: use sudo, or permit it once: sudo setcap {} {}",
                     kCapabilities, program);
}

}  // namespace

Expected<Launched> Launched::start(const std::vector<std::string>& options) {
  const auto program = base::find_helper_program(kProgram);
  if (!program) return tl::unexpected(program.error());
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  for (const auto* const pipe : {&input, &output, &errors}) {
    if (!*pipe) return tl::unexpected(pipe->error());
  }
  std::vector<std::string> all = options;
  all.emplace_back("--until-input-ends");
  Launched launched;
  {
    Spawn spawn;
    spawn.give(input->read, STDIN_FILENO);
    spawn.give(output->write, STDOUT_FILENO);
    spawn.give(errors->write, STDERR_FILENO);
    const auto process = spawn.run(*program, all);
    if (!process) return tl::unexpected(process.error());
    launched.process_ = *process;
  }
  launched.input_ = std::move(input->write);
  launched.errors_ = std::move(errors->read);
  // It never waits for this process to read what it prints for people: the pipe has room.
  ::fcntl(launched.errors_.get(), F_SETFL, O_NONBLOCK);
  output->write = FileDescriptor();
  errors->write = FileDescriptor();
  std::string line;
  while (line.find('\n') == std::string::npos && read_some(output->read, line)) {
  }
  if (line.find('\n') == std::string::npos) {
    const std::string why = last_line(launched.end());
    return fail(fmt::format("cannot trace the kernel: {}{}",
                            why.empty() ? *program + " ended without a reason" : why,
                            advice(*program)));
  }
  launched.socket_ = line.substr(0, line.find('\n'));
  return launched;
}

Launched::~Launched() {
  end();
}
Launched::Launched(Launched&& other) noexcept {
  *this = std::move(other);
}
Launched& Launched::operator=(Launched&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(input_, other.input_);
  std::swap(errors_, other.errors_);
  std::swap(socket_, other.socket_);
  std::swap(unread_, other.unread_);
  std::swap(failed_, other.failed_);
  return *this;
}

std::string Launched::said() {
  pollfd readable{errors_.get(), POLLIN, 0};
  while (::poll(&readable, 1, 0) > 0 && read_some(errors_, unread_)) {
  }
  const std::size_t end = unread_.rfind('\n') + 1;
  std::string lines = unread_.substr(0, end);
  unread_.erase(0, end);
  return lines;
}

std::string Launched::end() {
  if (process_ < 0) return {};
  input_ = FileDescriptor();
  // Its standard error is closed when it has ended.
  const std::int64_t until = base::monotonic_ns() + kPatience;
  for (bool open = true; open;) {
    const std::int64_t left = until - base::monotonic_ns();
    pollfd readable{errors_.get(), POLLIN, 0};
    const int ready = ::poll(
        &readable, 1, static_cast<int>(std::max<std::int64_t>(left, 0) / base::kMillisecond));
    if (ready > 0) open = read_some(errors_, unread_);
    if (ready == 0) {
      ::kill(process_, SIGKILL);
      break;
    }
  }
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  failed_ = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  process_ = -1;
  return std::exchange(unread_, {});
}

}  // namespace rpcrdma::kernel
