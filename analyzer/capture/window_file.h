// A file walked once from front to back, of which a window of some MiB is in memory: read in large
// steps into a buffer that is used over and over, so that no page of the file is ever mapped.
// To map the pages of a large file costs more than to copy them wherever page tables are dear, in
// virtual machines above all; and a file that another process cuts short ends, where a mapping
// would raise SIGBUS.
//
// The buffer is a ring: when a piece no longer fits before its end, what is unread of it moves to
// the front. It is long enough that what is overwritten then is kReadableBehind bytes behind, not
// counting what was skipped. A piece that is too long for it gets a buffer of its own.
#pragma once

#include "feed.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/capture/error.h>

namespace rpcrdma::capture {

class WindowFile final : public Feed {
 public:
  // `size`: as fstat() gave it. What the file grows by later is not read.
  WindowFile(base::FileDescriptor fd, std::uint64_t size);
  [[nodiscard]] bool stays() const override { return true; }
  [[nodiscard]] bool begin_at(std::uint64_t offset) override;

 private:
  // Pages of its own, in huge ones where there are such.
  class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes);
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    // Null when there is no memory.
    [[nodiscard]] std::uint8_t* begin() const { return begin_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    std::uint8_t* begin_ = nullptr;
    std::size_t bytes_ = 0;
  };
  // One that was left, whose last bytes are still looked at.
  struct Left {
    Buffer buffer;
    std::uint64_t until;  // passed()
  };

  bool refill(std::size_t n) override;
  void close_input() override { fd_.reset(); }
  bool make_room(std::size_t n);
  bool take_long(std::size_t n);
  void leave_long(std::size_t n);
  void close_gap();
  void go_on_in(Buffer& buffer, std::size_t at);
  bool read_some(std::size_t n);
  // passed(), before what was skipped since.
  [[nodiscard]] std::uint64_t given_out() const {
    return passed() - static_cast<std::uint64_t>(cursor_ - given_);
  }

  base::FileDescriptor fd_;
  std::uint64_t size_;
  std::uint64_t filled_ = 0;  // bytes of the file, up to end_
  Buffer ring_;
  bool holds_the_rest_ = false;     // the ring is as long as what was left of the file
  Buffer long_;                     // in use while it is there
  std::size_t ring_at_ = 0;         // where the ring is used again after that
  std::uint8_t* in_use_ = nullptr;  // the buffer that end_ is in
  std::size_t in_use_bytes_ = 0;
  std::deque<Left> left_;
};

}  // namespace rpcrdma::capture
