#include "pump.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <rpcrdma/base/thread.h>

namespace rpcrdma::index {

Pump::~Pump() {
  stop();
  if (thread_.joinable()) thread_.join();
}

capture::Expected<base::FileDescriptor> Pump::start(base::FileDescriptor from) {
  std::array<int, 2> ends{};
  auto wakeup = base::Wakeup::create();
  if (!wakeup) return capture::fail("cannot read a pipe: " + wakeup.error().message);
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return capture::fail(std::string("cannot read a pipe: ") + std::strerror(errno));
  }
  wakeup_ = std::move(*wakeup);
  from_ = std::move(from);
  to_ = base::FileDescriptor(ends[0]);
  base::FileDescriptor end(ends[1]);
  auto thread = base::start_thread([this] { run(); });
  if (!thread) return capture::fail("cannot read a pipe: " + thread.error().message);
  thread_ = std::move(*thread);
  return end;
}

void Pump::stop() {
  wakeup_.notify();
}

void Pump::run() {
  std::array<char, std::size_t{64} << 10> bytes;
  std::size_t begin = 0;
  std::size_t end = 0;  // of the bytes read and not yet passed on
  for (;;) {
    const bool full = begin != end;
    std::array<pollfd, 3> waits{pollfd{wakeup_.fd(), POLLIN, 0},
                                pollfd{full ? -1 : from_.get(), POLLIN, 0},
                                pollfd{to_.get(), static_cast<short>(full ? POLLOUT : 0), 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (waits[0].revents != 0 || (waits[2].revents & (POLLERR | POLLHUP)) != 0) break;
    if (full && waits[2].revents != 0) {
      const ssize_t n =
          ::send(to_.get(), bytes.data() + begin, end - begin, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) begin += static_cast<std::size_t>(n);
      if (n < 0 && errno != EAGAIN && errno != EINTR) break;
    } else if (!full && waits[1].revents != 0) {
      const ssize_t n = ::read(from_.get(), bytes.data(), bytes.size());
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) break;
      begin = 0;
      end = n > 0 ? static_cast<std::size_t>(n) : 0;
    }
  }
  to_.reset();
}

}  // namespace rpcrdma::index
