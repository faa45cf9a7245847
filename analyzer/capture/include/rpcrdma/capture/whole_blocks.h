// Keeps a pcapng stream as it comes, so that what is kept ends with a whole block whenever the
// stream ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::capture {

class WholeBlocks {
 public:
  // More than any block of an endpoint has.
  static constexpr std::size_t kMaxBlock = std::size_t{16} << 20;

  // Gives the blocks that are whole now that `bytes` have come too; valid until the next call.
  [[nodiscard]] std::span<const std::uint8_t> add(std::span<const std::uint8_t> bytes);
  // What came is no pcapng in the byte order that endpoints write: nothing more is given.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t given_ = 0;  // of bytes_
  bool begun_ = false;
  bool broken_ = false;
};

}  // namespace rpcrdma::capture
