#include "window_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

// Large enough to make the call per step cheap, small enough for what it copies to be in a cache
// when it is looked at.
constexpr std::size_t kStepBytes = std::size_t{256} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// So long that records of `n` bytes can be read by steps without touching what stays readable: at
// the end of a buffer up to `n` bytes are left free, and at its front up to `n` and a step are
// written at once.
constexpr std::size_t buffer_bytes(std::size_t n) {
  return (kReadableBehind + kStepBytes + 2 * n + kHugePage - 1) & ~(kHugePage - 1);
}
constexpr std::size_t kUsualBytes = buffer_bytes(std::size_t{512} << 10);

}  // namespace

WindowFile::Buffer::Buffer(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (bytes >= kHugePage) ::madvise(memory, bytes, MADV_HUGEPAGE);
  begin_ = static_cast<std::uint8_t*>(memory);
  bytes_ = bytes;
}

WindowFile::Buffer::~Buffer() {
  if (begin_ != nullptr) ::munmap(begin_, bytes_);
}

WindowFile::Buffer::Buffer(Buffer&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

WindowFile::Buffer& WindowFile::Buffer::operator=(Buffer&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

WindowFile::WindowFile(FileDescriptor fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

bool WindowFile::begin_at(std::uint64_t offset) {
  if (offset > size_ || offset < Feed::offset()) return false;
  cursor_ = end_ = begin_ = fill_ = buffer_.begin();
  base_ = filled_ = offset;
  return true;
}

bool WindowFile::refill(std::size_t n) {
  while (!outgrown_.empty() && outgrown_.front().until <= offset()) outgrown_.pop_front();
  const std::uint64_t left = size_ - filled_;
  const std::size_t wanted = n - available() <= left ? n : available() + left;
  if (!make_room(wanted)) {
    failure_ = "no memory for a record of " + std::to_string(n) + " bytes";
    return false;
  }
  while (available() < wanted) {
    if (!read_some(wanted - available())) return false;
  }
  return wanted == n;
}

// `n` bytes at the cursor will fit before the buffer's end.
bool WindowFile::make_room(std::size_t n) {
  if (holds_the_rest_) return true;
  const auto at = static_cast<std::size_t>(cursor_ - begin_);
  const bool long_enough = buffer_.bytes() >= buffer_bytes(n);
  if (long_enough && n <= buffer_.bytes() - at) return true;
  const std::size_t unread = available();
  Buffer larger;
  if (!long_enough) {
    const std::uint64_t rest = unread + (size_ - filled_);
    const std::size_t bytes = std::max({kUsualBytes, buffer_bytes(n), 2 * buffer_.bytes()});
    holds_the_rest_ = rest <= bytes;
    larger = Buffer(holds_the_rest_ ? static_cast<std::size_t>(rest) : bytes);
    if (larger.begin() == nullptr) return false;
  }
  std::uint8_t* const front = long_enough ? buffer_.begin() : larger.begin();
  if (unread != 0) std::memcpy(front, cursor_, unread);
  base_ = offset();
  begin_ = cursor_ = front;
  end_ = fill_ = front + unread;
  if (!long_enough) {
    if (buffer_.begin() != nullptr) {
      outgrown_.push_back({std::move(buffer_), base_ + kReadableBehind});
    }
    buffer_ = std::move(larger);
  }
  return true;
}

// At least a byte of the `n` that lack.
bool WindowFile::read_some(std::size_t n) {
  const auto room = buffer_.bytes() - static_cast<std::size_t>(end_ - begin_);
  const auto bytes = static_cast<std::size_t>(
      std::min<std::uint64_t>(std::min(std::max(n, kStepBytes), room), size_ - filled_));
  for (;;) {
    const ssize_t got = ::pread(fd_.get(), fill_, bytes, static_cast<off_t>(filled_));
    if (got > 0) {
      fill_ += got;
      end_ = fill_;
      filled_ += static_cast<std::uint64_t>(got);
      return true;
    }
    if (got == 0) {
      size_ = filled_;
      cut_short_ = true;
      damage_ = "the file became shorter while it was read";
      return false;
    }
    if (errno == EINTR) continue;
    failure_ = std::string("cannot read: ") + std::strerror(errno);
    return false;
  }
}

}  // namespace rpcrdma::capture
