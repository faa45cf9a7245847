#include "signal_masked_thread.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/live/stream_reader.h>

namespace rpcrdma::trace {
namespace {

constexpr std::size_t kAtOnce = std::size_t{256} << 10;

}  // namespace

base::Expected<std::unique_ptr<StreamReader>> StreamReader::start(int socket,
                                                                  std::size_t most_bytes) {
  base::FileDescriptor own(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (own.get() < 0) return base::fail(std::string("cannot read: ") + std::strerror(errno));
  return base::or_out_of_memory(
      "cannot read", [&]() -> base::Expected<std::unique_ptr<StreamReader>> {
        std::unique_ptr<StreamReader> reader(new StreamReader(std::move(own), most_bytes));
        try {
          reader->thread_ = start_signal_masked_thread([it = reader.get()] { it->run(); });
        } catch (const std::system_error& error) {
          return base::fail("cannot start a thread: " + error.code().message());
        }
        return reader;
      });
}

StreamReader::~StreamReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  ::shutdown(socket_.get(), SHUT_RD);  // wakes the thread
  if (thread_.joinable()) thread_.join();
}

void StreamReader::run() noexcept {
  try {
    std::vector<std::uint8_t> buffer(kAtOnce);
    while (read(buffer)) {
    }
  } catch (const std::bad_alloc&) {
    end(ENOMEM);
  }
}

// Returns false when nothing more will come.
bool StreamReader::read(std::vector<std::uint8_t>& buffer) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || waiting_.size() < most_bytes_; });
    if (stop_) return false;
  }
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) {
    end(n < 0 ? errno : 0);
    return false;
  }
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = waiting_.empty();
    waiting_.insert(waiting_.end(), buffer.begin(), buffer.begin() + n);
  }
  if (was_empty) changed_.notify_all();
  return true;
}

void StreamReader::end(int error) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = error;
  }
  changed_.notify_all();
}

void StreamReader::take(std::vector<std::uint8_t>& bytes,
                        const std::optional<Clock::time_point>& deadline) {
  bytes.clear();
  bool was_full = false;
  {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return ended_ || !waiting_.empty(); };
    if (deadline) {
      changed_.wait_until(lock, *deadline, ready);
    } else {
      changed_.wait(lock, ready);
    }
    was_full = waiting_.size() >= most_bytes_;
    std::swap(waiting_, bytes);
  }
  if (was_full) changed_.notify_all();
}

bool StreamReader::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_ && waiting_.empty();
}

int StreamReader::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace rpcrdma::trace
