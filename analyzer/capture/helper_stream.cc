#include "helper_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rpcrdma/base/helper_program.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/capture/helpers.h>

namespace rpcrdma::capture {
namespace {

using base::FileDescriptor;

std::atomic<bool> helper_was_started = false;

// Copies a stream to the helper. The thread may wait for the stream's input for long, so nobody
// waits for the thread: it owns what it uses.
struct Pump {
  std::unique_ptr<ByteStream> from;
  FileDescriptor to;
  std::vector<std::uint8_t> buffer = std::vector<std::uint8_t>(std::size_t{256} << 10);
};

void pump(Pump& p) {
  for (;;) {
    const auto got = p.from->read(p.buffer);
    if (!got || *got == 0) break;
    std::span<const std::uint8_t> rest(p.buffer.data(), *got);
    while (!rest.empty()) {
      const ssize_t n = ::send(p.to.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return;
      rest = rest.subspan(static_cast<std::size_t>(n));
    }
  }
  (void)::shutdown(p.to.get(), SHUT_WR);
}

// No exception may leave the thread. Without memory the helper finds that its input is cut short.
void pump_or_give_up(const std::shared_ptr<Pump>& p) noexcept {
  try {
    pump(*p);
  } catch (const std::bad_alloc&) {
    (void)::shutdown(p->to.get(), SHUT_WR);
  }
}

class HelperStream final : public ByteStream {
 public:
  HelperStream(std::string program, std::string name, FileDescriptor output, FileDescriptor errors,
               std::shared_ptr<Pump> pumped)
      : program_(std::move(program)),
        name_(std::move(name)),
        output_(std::move(output)),
        errors_(std::move(errors)),
        pumped_(std::move(pumped)) {}
  ~HelperStream() override {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    (void)wait();
  }
  // From here on it is this object that ends the program.
  void started(pid_t child) { child_ = child; }

  Expected<std::size_t> read(std::span<std::uint8_t> out) override {
    if (child_ <= 0) return std::size_t{0};
    ssize_t n = 0;
    do {
      n = ::read(output_.get(), out.data(), out.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) return fail(std::strerror(errno));
    stored_ += static_cast<std::uint64_t>(n);
    if (n != 0) return static_cast<std::size_t>(n);
    return ended();
  }
  std::uint64_t stored() const override { return stored_; }

 private:
  int wait() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return status;
  }

  Expected<std::size_t> ended() {
    const int status = wait();
    const std::string line = last_line();
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      return fail(signal == SIGXCPU
                      ? "reading it takes too long: it is damaged"
                      : "reading it failed: " + program_ + " was ended by signal " +
                            std::to_string(signal) + " (" + ::strsignal(signal) + ")");
    }
    if (WEXITSTATUS(status) != 0) {
      return fail(line.empty() ? "reading it failed: " + program_ + " ended with status " +
                                     std::to_string(WEXITSTATUS(status))
                               : line);
    }
    damage_ = line;
    return std::size_t{0};
  }

  // The last line that the program printed, without the file's name.
  std::string last_line() {
    std::array<char, 4096> buffer{};
    std::string text;
    for (;;) {
      const ssize_t n = ::read(errors_.get(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(n));
      if (text.size() > 4 * buffer.size()) text.erase(0, text.size() - buffer.size());
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text.erase(0, text.rfind('\n') + 1);
    if (text.starts_with(name_ + ": ")) text.erase(0, name_.size() + 2);
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return text;
  }

  std::string program_, name_;
  pid_t child_ = -1;
  FileDescriptor output_, errors_;
  std::shared_ptr<Pump> pumped_;  // the caller may watch the descriptor in it
  std::uint64_t stored_ = 0;
};

struct Pipe {
  FileDescriptor read, write;
  [[nodiscard]] bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
    return true;
  }
};

}  // namespace

Expected<std::unique_ptr<ByteStream>> run_helper(
    std::string_view program, const std::string& name,
    std::variant<FileDescriptor, std::unique_ptr<ByteStream>> input) {
  const auto path = base::find_helper_program(program);
  if (!path) return fail(path.error().message);
  Pipe output, errors;
  FileDescriptor in;
  std::shared_ptr<Pump> pumped;
  if (!output.open() || !errors.open()) return fail(std::strerror(errno));
  if (auto* const file = std::get_if<FileDescriptor>(&input)) {
    in = std::move(*file);
  } else {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return fail(std::strerror(errno));
    }
    in = FileDescriptor(ends[0]);
    pumped = std::make_shared<Pump>();
    pumped->from = std::move(std::get<std::unique_ptr<ByteStream>>(input));
    pumped->to = FileDescriptor(ends[1]);
  }
  // What the program prints is read when it has ended: more than the pipe holds is lost, and must
  // not stop it.
  (void)::fcntl(errors.write.get(), F_SETFL, O_NONBLOCK);

  // Everything that needs memory precedes the start, so that nothing is left running without it.
  std::string program_path = *path, name_option = "--name", name_value = name;
  auto stream = std::make_unique<HelperStream>(std::string(program), name, std::move(output.read),
                                               std::move(errors.read), pumped);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write.get(), STDERR_FILENO);
  std::array<char*, 4> arguments{program_path.data(), name_option.data(), name_value.data(),
                                 nullptr};
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program_path.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(program_path + ": " + std::strerror(error));
  helper_was_started = true;
  stream->started(child);
  if (pumped) {
    auto thread = base::start_thread([pumped] { pump_or_give_up(pumped); });
    if (!thread) return tl::unexpected(thread.error());
    thread->detach();
  }
  return stream;
}

bool runs_helpers() {
  return helper_was_started;
}

}  // namespace rpcrdma::capture
