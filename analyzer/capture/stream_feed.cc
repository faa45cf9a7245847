#include "stream_feed.h"

#include <cstring>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kInitialBytes = std::size_t{256} << 10;

}  // namespace

StreamFeed::StreamFeed(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)),
      capacity_(kInitialBytes),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kInitialBytes)) {
  begin_ = cursor_ = end_ = buffer_.get();
}

// Reads as rarely as possible, but never waits for a full buffer: a pipe may deliver a live
// capture, whose frames must not be delayed.
bool StreamFeed::refill(std::size_t n) {
  while (available() < n) {
    make_room();
    const auto filled = static_cast<std::size_t>(end_ - begin_);
    const auto got = stream_->read({buffer_.get() + filled, capacity_ - filled});
    if (!got) {
      failure_ = got.error().message;
      return false;
    }
    if (*got == 0) {
      damage_ = stream_->damage();
      cut_short_ = stream_->cut_short();
      return false;
    }
    end_ += *got;
  }
  return true;
}

// Moves the unread bytes to the front once the buffer is full. The buffer grows if they are the
// greater part, so every byte is moved a bounded number of times.
void StreamFeed::make_room() {
  if (end_ != begin_ + capacity_) return;
  const std::size_t unread = available();
  base_ = offset();
  if (unread > capacity_ / 2) {
    auto larger = std::make_unique_for_overwrite<std::uint8_t[]>(capacity_ * 2);
    std::memcpy(larger.get(), cursor_, unread);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  } else {
    std::memmove(buffer_.get(), cursor_, unread);
  }
  begin_ = cursor_ = buffer_.get();
  end_ = begin_ + unread;
}

}  // namespace rpcrdma::capture
