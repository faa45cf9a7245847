// Moves the window; window.h explains the ring.
#include "window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

// A longer piece, which is never a packet, gets its own buffer.
constexpr std::size_t kLongest = std::size_t{320} << 10;

// Long enough to read pieces of kLongest step by step without touching a frame that must stay
// readable. Up to kLongest bytes each are needed for the unread part of such a piece, for bytes
// skipped before it, for the unused end of the ring where it did not fit, for bytes skipped there,
// and for the frame itself; one step is read after it.
constexpr std::size_t kRingBytes = std::size_t{10} << 20;
static_assert(kRingBytes >= kReadableBehind + 5 * kLongest + Window::kStepBytes);

}  // namespace

void Window::leap(std::uint64_t offset) {
  cursor_ = end_ = begin_ = given_ = in_use_;
  base_ = filled_ = offset;
}

bool Window::refill(std::size_t n) {
  while (!left_.empty() && left_.front().until < given_out()) left_.pop_front();
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

// Ensures that `n` bytes at the cursor fit before the end of the buffer in use.
bool Window::make_room(std::size_t n) {
  if (ring_.begin() == nullptr) {
    const std::uint64_t rest = size_ - filled_;
    holds_the_rest_ = rest <= kRingBytes;
    ring_ = holds_the_rest_ ? WindowBuffer(static_cast<std::size_t>(rest), spare_)
                            : WindowBuffer(kRingBytes);
    if (ring_.begin() == nullptr) return rest == 0;
    go_on_in(ring_, 0);
  }
  if (holds_the_rest_) return true;
  if (n > kLongest) return take_long(n);
  if (long_.begin() != nullptr) {
    leave_long(n);
    return true;
  }
  close_gap();
  const auto at = static_cast<std::size_t>(cursor_ - in_use_);
  if (n > ring_.bytes() - at) go_on_in(ring_, 0);
  return true;
}

// Reads half as much again with the piece: a search for records may request as long a piece at
// every byte, and would copy all of it each time.
bool Window::take_long(std::size_t n) {
  const auto at = static_cast<std::size_t>(cursor_ - in_use_);
  if (long_.begin() != nullptr && n <= long_.bytes() - at) return true;
  WindowBuffer longer(static_cast<std::size_t>(
      std::min<std::uint64_t>(n + std::max(n / 2, kStepBytes), available() + (size_ - filled_))));
  if (longer.begin() == nullptr) return false;
  const std::uint64_t until = given_out() + kReadableBehind;
  const bool from_ring = long_.begin() == nullptr;
  if (from_ring) ring_at_ = static_cast<std::size_t>(given_ - in_use_);
  go_on_in(longer, 0);
  if (!from_ring) left_.push_back({std::move(long_), until});
  long_ = std::move(longer);
  return true;
}

void Window::leave_long(std::size_t n) {
  const std::uint64_t until = given_out() + kReadableBehind;
  go_on_in(ring_, n <= ring_.bytes() - ring_at_ ? ring_at_ : 0);
  left_.push_back({std::move(long_), until});
}

// Moves the unread bytes to `buffer`; skipped bytes stay behind.
void Window::go_on_in(WindowBuffer& buffer, std::size_t at) {
  const std::size_t unread = available();
  std::uint8_t* const to = buffer.begin() + at;
  if (unread != 0) std::memcpy(to, cursor_, unread);
  left_out_ += static_cast<std::uint64_t>(cursor_ - given_);
  base_ = offset();
  begin_ = cursor_ = given_ = to;
  end_ = to + unread;
  in_use_ = buffer.begin();
  in_use_bytes_ = buffer.bytes();
}

// Skipped bytes stop taking up space; otherwise a long skip would overwrite the frames before it.
// If more bytes are unread than were skipped, moving them would cost more than reading them.
void Window::close_gap() {
  const auto gap = static_cast<std::size_t>(cursor_ - given_);
  if (gap == 0 || gap < available()) return;
  go_on_in(ring_, static_cast<std::size_t>(given_ - in_use_));
}

// Reads at least one of the `n` missing bytes.
bool Window::read_some(std::size_t n) {
  const auto at = static_cast<std::size_t>(end_ - in_use_);
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(
      std::min(std::max(n, std::exchange(step_, kStepBytes)), in_use_bytes_ - at),
      size_ - filled_));
  const std::size_t got = read_input({in_use_ + at, bytes});
  end_ += got;
  filled_ += got;
  if (got == 0 && failure_.empty()) size_ = filled_;
  return got != 0;
}

}  // namespace rpcrdma::capture
