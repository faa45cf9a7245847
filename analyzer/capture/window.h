// A window of some MiB that moves over bytes once from front to back, in large steps into a buffer
// that is reused. Frames in it stay readable for some time, so other threads can work on them.
//
// The buffer is a ring: when a piece no longer fits before its end, its unread part moves to the
// front. The ring is long enough that the bytes overwritten then are kReadableBehind bytes behind,
// not counting skipped bytes. A piece too long for the ring gets a buffer of its own.
//
// What the window moves over is for a derived class: window_file.h, window_stream.h.
#pragma once

#include "feed.h"
#include "window_buffer.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

namespace rpcrdma::capture {

class Window : public Feed {
 public:
  // Large enough to make the system call per step cheap, small enough for the copied bytes to be in
  // a cache when they are read.
  static constexpr std::size_t kStepBytes = std::size_t{256} << 10;

  [[nodiscard]] bool stays() const final { return true; }

 protected:
  // The size of an input whose end shows only when it is reached.
  static constexpr std::uint64_t kUnknownSize = INT64_MAX;

  // `spare`: where the ring comes from and returns to, or null. `first_step`: bytes of the first
  // step, since often no more than the beginning is read.
  explicit Window(std::uint64_t size, std::shared_ptr<SpareBuffers> spare = nullptr,
                  std::size_t first_step = kStepBytes)
      : size_(size), step_(first_step), spare_(std::move(spare)) {}

  // Reads at least one byte, from filled() on, and returns how many; 0 at the end, or after an
  // error, which is then in failure_.
  virtual std::size_t read_input(std::span<std::uint8_t> to) = 0;

  // Continues at another offset, without the bytes up to there.
  void leap(std::uint64_t offset);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t filled() const { return filled_; }

 private:
  // A buffer no longer in use whose last bytes may still be read.
  struct Left {
    WindowBuffer buffer;
    std::uint64_t until;  // until passed() reaches this
  };

  bool refill(std::size_t n) final;
  bool make_room(std::size_t n);
  bool take_long(std::size_t n);
  void leave_long(std::size_t n);
  void close_gap();
  void go_on_in(WindowBuffer& buffer, std::size_t at);
  bool read_some(std::size_t n);
  // passed(), without the bytes skipped since.
  [[nodiscard]] std::uint64_t given_out() const {
    return passed() - static_cast<std::uint64_t>(cursor_ - given_);
  }

  std::uint64_t size_;
  std::size_t step_;
  std::uint64_t filled_ = 0;  // offset at end_
  std::shared_ptr<SpareBuffers> spare_;
  WindowBuffer ring_;
  bool holds_the_rest_ = false;     // the ring holds the whole rest of the input
  WindowBuffer long_;               // in use while it exists
  std::size_t ring_at_ = 0;         // where use of the ring resumes afterwards
  std::uint8_t* in_use_ = nullptr;  // the buffer that contains end_
  std::size_t in_use_bytes_ = 0;
  std::deque<Left> left_;
};

}  // namespace rpcrdma::capture
