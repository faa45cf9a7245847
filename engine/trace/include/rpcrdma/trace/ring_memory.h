// The memory of a Ring. Who writes to it must not pay for its pages, each of which costs more than
// many events: populate() lets the reader do that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rpcrdma::trace {

class RingMemory {
 public:
  // Throws std::bad_alloc, as containers do.
  explicit RingMemory(std::size_t bytes);

  [[nodiscard]] std::uint8_t* data() const { return memory_.get(); }
  std::uint8_t& operator[](std::size_t i) const { return memory_[i]; }

  // By any thread, while others read and write. Only a wish: where the system can't, the pages
  // come when they are touched first. Repeating it costs little.
  void populate() const;

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::uint8_t* memory) const;
  };

  std::unique_ptr<std::uint8_t[], Free> memory_;
};

}  // namespace rpcrdma::trace
