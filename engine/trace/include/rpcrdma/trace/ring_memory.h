// The memory of a Ring. The writer must not pay for page faults, each of which costs more than many
// events: populate() lets the reader take them.
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

  // Maps all pages. For any thread, while others read and write. Best effort: if the system cannot,
  // pages are mapped when they are first touched. Repeated calls are cheap.
  void populate() const;

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::uint8_t* memory) const;
  };

  std::unique_ptr<std::uint8_t[], Free> memory_;
};

}  // namespace rpcrdma::trace
