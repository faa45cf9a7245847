#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/eventfd.h>
#include <unistd.h>

#include <rpcrdma/base/wakeup.h>

namespace rpcrdma::base {

Expected<Wakeup> Wakeup::create() {
  Wakeup wakeup;
  wakeup.fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wakeup.fd() < 0) return fail(std::string("eventfd: ") + std::strerror(errno));
  return wakeup;
}

void Wakeup::notify() const noexcept {
  if (fd() < 0) return;
  const int saved = errno;  // of the code that a signal handler interrupted
  const std::uint64_t one = 1;
  // Fails only if the counter is full; then the descriptor is already readable.
  [[maybe_unused]] const ssize_t n = ::write(fd(), &one, sizeof one);
  errno = saved;
}

void Wakeup::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd(), &count, sizeof count);
}

}  // namespace rpcrdma::base
