// Bytes that RDMA operations moved into or out of one chunk, kept if the payload is wanted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::model {

// Stores only what arrived: a peer that announces 4 GiB and writes one byte at its end costs one
// byte.
class ChunkData {
 public:
  struct Extent {
    std::uint64_t offset = 0;  // in the chunk, bytes
    std::vector<std::uint8_t> bytes;
  };

  // Stores `data` at `offset` and overwrites what it overlaps. Returns how many more bytes are
  // held. Bytes that arrive out of order force others to move: if a peer causes too many moves, its
  // data is refused and not kept.
  std::size_t store(std::uint64_t offset, std::span<const std::uint8_t> data);

  // The bytes from the start of the chunk up to the first hole, at most `length`.
  [[nodiscard]] std::vector<std::uint8_t> prefix(std::uint64_t length) const;
  // The same without a copy, if the bytes lie in one extent; empty otherwise.
  [[nodiscard]] std::span<const std::uint8_t> head() const;

  // Whether all of [0, length) is present.
  [[nodiscard]] bool covers(std::uint64_t length) const;

  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  [[nodiscard]] std::size_t held() const { return held_; }
  // Memory used: the data and its overhead.
  [[nodiscard]] std::size_t footprint() const {
    return held_ + extents_.size() * (sizeof(Extent) + kAllocation);
  }
  [[nodiscard]] bool refused() const { return refused_; }
  // Bytes that were moved to make room or to join extents.
  [[nodiscard]] std::uint64_t moved() const { return moved_; }
  void clear();

 private:
  static constexpr std::size_t kAllocation = 32;  // smallest allocation

  [[nodiscard]] bool may_move(std::size_t bytes);

  std::vector<Extent> extents_;  // sorted, disjoint
  std::size_t held_ = 0;
  std::uint64_t moved_ = 0;
  bool refused_ = false;
};

}  // namespace rpcrdma::model
