// The loop between the endpoint's socket and Wireshark's pipe, with its buffer, signals and ends.
#include "pump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/base/pcapng/whole_blocks.h>

namespace rpcrdma::extcap {
namespace {

using base::FileDescriptor;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kAtOnce = std::size_t{256} << 10;
// While this many bytes wait for Wireshark, nothing is read from the endpoint, which counts its
// losses.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;
constexpr milliseconds kLookAgain{20};
constexpr milliseconds kLastWait{250};

tl::unexpected<std::string> error(const std::string& what, int number) {
  return tl::unexpected(fmt::format("{}: {}", what, std::strerror(number)));
}

class Pump {
 public:
  Pump(const FileDescriptor& from, const FileDescriptor& fifo, int signals, StreamEdit&& edit,
       base::LivePatience patience)
      : from_(from.get()),
        fifo_(fifo.get()),
        signals_(signals),
        edit_(std::move(edit)),
        blocks_(patience) {}

  tl::expected<void, std::string> run() {
    while (!over()) step();
    if (!why_.empty()) return tl::unexpected(why_);
    return {};
  }

 private:
  [[nodiscard]] bool over() const {
    if (reader_gone_ || !why_.empty()) return true;
    if (!ended_) return false;
    return !waits() || (by_signal_ && Clock::now() >= deadline_);
  }
  [[nodiscard]] bool waits() const { return gone_ != waiting_.size(); }

  // Milliseconds; -1: forever.
  [[nodiscard]] int patience() const {
    const auto until = by_signal_ ? deadline_ : blocks_.deadline();
    if (!until) return -1;
    const auto left = std::chrono::ceil<milliseconds>(*until - Clock::now()).count();
    return static_cast<int>(std::max<milliseconds::rep>(left, 0));
  }

  void step() {
    std::array<pollfd, 3> watched{
        pollfd{signals_, static_cast<short>(by_signal_ ? 0 : POLLIN), 0},
        // poll() reports a closed reader without being asked.
        pollfd{fifo_, static_cast<short>(waits() ? POLLOUT : 0), 0},
        pollfd{ended_ || waiting_.size() - gone_ > kMostWaiting ? -1 : from_, POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), patience()) < 0) {
      if (errno != EINTR) why_ = fmt::format("poll: {}", std::strerror(errno));
      return;
    }
    if ((watched[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
      reader_gone_ = true;
      return;
    }
    if ((watched[1].revents & POLLOUT) != 0) write();
    if (watched[2].revents != 0) read();
    blocks_.expire(Clock::now());
    if (blocks_.broken() && why_.empty()) why_ = blocks_.why();
    if (watched[0].revents != 0 && !by_signal_) {
      by_signal_ = true;
      deadline_ = Clock::now() + kLastWait;
      end();
    }
  }

  void end() {
    if (ended_) return;
    ended_ = true;
    if (!edit_.begun() && !by_signal_) {
      why_ = "the endpoint has ended, or has the maximum number of readers";
    }
    edit_.end(waiting_);
  }

  void read() {
    const ssize_t n = ::recv(from_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      return end();  // it was killed and left data unread
    }
    if (n == 0) return end();
    const auto whole = blocks_.add(std::span(buffer_).first(static_cast<std::size_t>(n)));
    constexpr std::string_view kNoStream =
        "the endpoint sent something other than a stream of events or packets";
    if (!edit_.add(whole, waiting_)) {
      why_ = kNoStream;
    } else if (blocks_.broken()) {
      why_ = fmt::format("{}: {}", kNoStream, blocks_.why());
    }
  }

  void write() {
    const ssize_t n = ::write(fifo_, waiting_.data() + gone_, waiting_.size() - gone_);
    if (n > 0) {
      gone_ += static_cast<std::size_t>(n);
      // Moved so rarely that each byte is moved at most once on average.
      if (gone_ >= waiting_.size() - gone_) {
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(gone_));
        gone_ = 0;
      }
    } else if (errno == EPIPE) {
      reader_gone_ = true;
    } else if (errno != EAGAIN && errno != EINTR) {
      why_ = fmt::format("cannot write: {}", std::strerror(errno));
    }
  }

  const int from_;
  const int fifo_;
  const int signals_;
  StreamEdit edit_;
  base::WholeBlocks blocks_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(kAtOnce);
  std::vector<std::uint8_t> waiting_;  // bytes that wait for Wireshark
  std::size_t gone_ = 0;               // number of them already written
  bool ended_ = false;                 // the endpoint sends nothing more
  bool by_signal_ = false;
  bool reader_gone_ = false;
  Clock::time_point deadline_;  // for waiting bytes, after a signal
  std::string why_;
};

}  // namespace

tl::expected<FileDescriptor, std::string> take_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signal);
  if (::sigprocmask(SIG_BLOCK, &ends, nullptr) != 0) return error("sigprocmask", errno);
  FileDescriptor fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() < 0) return error("signalfd", errno);
  return fd;
}

tl::expected<FileDescriptor, std::string> open_fifo(const std::string& path, int signals,
                                                    int patience_ms) {
  const auto deadline = Clock::now() + milliseconds(patience_ms);
  for (;;) {
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() >= 0) return fd;
    if (errno != ENXIO && errno != EINTR) return error(path, errno);
    if (Clock::now() >= deadline) return tl::unexpected(path + ": no process reads this pipe");
    pollfd wait{signals, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(kLookAgain.count())) > 0) return FileDescriptor();
  }
}

tl::expected<void, std::string> pump(const FileDescriptor& from, const FileDescriptor& fifo,
                                     int signals, StreamEdit edit, base::LivePatience patience) {
  return Pump(from, fifo, signals, std::move(edit), patience).run();
}

}  // namespace rpcrdma::extcap
