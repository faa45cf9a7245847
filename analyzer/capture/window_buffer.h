// The memory of windows over files, and its reuse by the window over the next file. The kernel
// clears each page that a program gets from it; for the small files of a ring that costs as much
// as reading them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rpcrdma::capture {

class SpareBuffers;

// An allocation of its own pages, huge pages if available.
class WindowBuffer {
 public:
  WindowBuffer() = default;
  // Of at least `bytes`. `spare`: where the memory comes from and returns to, or null.
  explicit WindowBuffer(std::size_t bytes, std::shared_ptr<SpareBuffers> spare = nullptr);
  ~WindowBuffer();
  WindowBuffer(WindowBuffer&& other) noexcept;
  WindowBuffer& operator=(WindowBuffer&& other) noexcept;
  // Null if memory ran out.
  [[nodiscard]] std::uint8_t* begin() const { return begin_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  friend class SpareBuffers;
  std::uint8_t* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<SpareBuffers> spare_;
};

// Buffers for reuse, up to a number. For one thread at a time.
class SpareBuffers {
 public:
  static constexpr std::size_t kMost = 4;

  SpareBuffers() { buffers_.reserve(kMost); }  // keep() must not fail

  // A buffer of exactly `wanted` bytes; empty if there is none.
  [[nodiscard]] WindowBuffer take(std::size_t wanted);
  // Leaves `buffer` empty, or as it is when there is no room.
  void keep(WindowBuffer& buffer);

 private:
  std::vector<WindowBuffer> buffers_;
};

}  // namespace rpcrdma::capture
