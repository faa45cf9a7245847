#include "window_buffer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <sys/mman.h>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

WindowBuffer::WindowBuffer(std::size_t bytes, std::shared_ptr<SpareBuffers> spare) {
  if (spare != nullptr) {
    // Files of similar size use each other's. Pages that are never used cost nothing.
    bytes = std::bit_ceil(bytes);
    *this = spare->take(bytes);
    spare_ = std::move(spare);
    if (begin_ != nullptr) return;
  }
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (bytes >= kHugePage) ::madvise(memory, bytes, MADV_HUGEPAGE);
  begin_ = static_cast<std::uint8_t*>(memory);
  bytes_ = bytes;
}

WindowBuffer::~WindowBuffer() {
  if (begin_ == nullptr) return;
  if (const auto spare = std::move(spare_)) spare->keep(*this);
  if (begin_ != nullptr) ::munmap(begin_, bytes_);
}

WindowBuffer::WindowBuffer(WindowBuffer&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      spare_(std::move(other.spare_)) {}

WindowBuffer& WindowBuffer::operator=(WindowBuffer&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  std::swap(spare_, other.spare_);
  return *this;
}

WindowBuffer SpareBuffers::take(std::size_t wanted) {
  const auto fits = [&](const WindowBuffer& b) { return b.bytes_ == wanted; };
  const auto found = std::find_if(buffers_.begin(), buffers_.end(), fits);
  if (found == buffers_.end()) return {};
  WindowBuffer taken = std::move(*found);
  buffers_.erase(found);
  return taken;
}

void SpareBuffers::keep(WindowBuffer& buffer) {
  if (buffers_.size() == kMost) return;
  WindowBuffer& kept = buffers_.emplace_back();
  std::swap(kept.begin_, buffer.begin_);
  std::swap(kept.bytes_, buffer.bytes_);
}

}  // namespace rpcrdma::capture
