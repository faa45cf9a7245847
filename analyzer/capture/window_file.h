// Reads a file once from front to back through a window of some MiB, in large steps into a buffer
// that is reused, so no page of the file is ever mapped. Mapping the pages of a large file costs
// more than copying them where page tables are expensive, above all in virtual machines; and if
// another process truncates the file, this walk ends where a mapping would raise SIGBUS.
//
// The buffer is a ring: when a piece no longer fits before its end, its unread part moves to the
// front. The ring is long enough that the bytes overwritten then are kReadableBehind bytes behind,
// not counting skipped bytes. A piece too long for the ring gets a buffer of its own.
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
  // `size`: from fstat(). Bytes that the file gains later are not read.
  WindowFile(base::FileDescriptor fd, std::uint64_t size);
  [[nodiscard]] bool stays() const override { return true; }
  [[nodiscard]] bool begin_at(std::uint64_t offset) override;

 private:
  // An allocation of its own pages, huge pages if available.
  class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes);
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    // Null if memory ran out.
    [[nodiscard]] std::uint8_t* begin() const { return begin_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    std::uint8_t* begin_ = nullptr;
    std::size_t bytes_ = 0;
  };
  // A buffer no longer in use whose last bytes may still be read.
  struct Left {
    Buffer buffer;
    std::uint64_t until;  // until passed() reaches this
  };

  bool refill(std::size_t n) override;
  void close_input() override { fd_.reset(); }
  bool make_room(std::size_t n);
  bool take_long(std::size_t n);
  void leave_long(std::size_t n);
  void close_gap();
  void go_on_in(Buffer& buffer, std::size_t at);
  bool read_some(std::size_t n);
  // passed(), without the bytes skipped since.
  [[nodiscard]] std::uint64_t given_out() const {
    return passed() - static_cast<std::uint64_t>(cursor_ - given_);
  }

  base::FileDescriptor fd_;
  std::uint64_t size_;
  std::uint64_t filled_ = 0;  // file offset at end_
  Buffer ring_;
  bool holds_the_rest_ = false;     // the ring holds the whole rest of the file
  Buffer long_;                     // in use while it exists
  std::size_t ring_at_ = 0;         // where use of the ring resumes afterwards
  std::uint8_t* in_use_ = nullptr;  // the buffer that contains end_
  std::size_t in_use_bytes_ = 0;
  std::deque<Left> left_;
};

}  // namespace rpcrdma::capture
