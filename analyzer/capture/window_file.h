// A file walked once from front to back, of which a window of some MiB is in memory: read in large
// steps into a buffer that is used over and over, so that no page of the file is ever mapped.
// To map the pages of a large file costs more than to copy them wherever page tables are dear, in
// virtual machines above all; and a file that another process cuts short ends, where a mapping
// would raise SIGBUS.
//
// The buffer goes round: when a piece no longer fits before its end, what is unread of it moves to
// the front. It is long enough that what is overwritten then is kReadableBehind bytes behind.
#pragma once

#include "feed.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include <rpcrdma/capture/error.h>
#include <rpcrdma/capture/file_descriptor.h>

namespace rpcrdma::capture {

class WindowFile final : public Feed {
 public:
  // `size`: as fstat() gave it. What the file grows by later is not read.
  WindowFile(FileDescriptor fd, std::uint64_t size);
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
  // One that became too short for the records, whose last bytes are still looked at.
  struct Outgrown {
    Buffer buffer;
    std::uint64_t until;  // the cursor's offset
  };

  bool refill(std::size_t n) override;
  void close_input() override { fd_.close(); }
  bool make_room(std::size_t n);
  bool read_some(std::size_t n);

  FileDescriptor fd_;
  std::uint64_t size_;
  std::uint64_t filled_ = 0;  // bytes of the file, up to end_
  Buffer buffer_;
  bool holds_the_rest_ = false;   // the buffer is as long as what is left of the file
  std::uint8_t* fill_ = nullptr;  // end_, to be written at
  std::deque<Outgrown> outgrown_;
};

}  // namespace rpcrdma::capture
