// Bytes that RDMA operations moved into or out of one chunk, kept for those who want the payload.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::model {

// Holds only what arrived: a peer that announces 4 GiB and writes one byte at its end costs one
// byte.
class ChunkData {
 public:
  struct Extent {
    std::uint64_t offset = 0;  // in the chunk, bytes
    std::vector<std::uint8_t> bytes;
  };

  // Keeps `data` at `offset`; what it overlaps is overwritten. Returns how many bytes more are
  // held. Bytes that come out of order make others move: a peer that has them moved over and over
  // is refused, and its data is not kept.
  std::size_t store(std::uint64_t offset, std::span<const std::uint8_t> data);

  // The bytes from the start of the chunk up to the first hole, at most `length`.
  [[nodiscard]] std::vector<std::uint8_t> prefix(std::uint64_t length) const;
  // Without a copy, when the bytes asked for lie in one extent; empty otherwise.
  [[nodiscard]] std::span<const std::uint8_t> head() const;

  // All of [0, length) is here.
  [[nodiscard]] bool covers(std::uint64_t length) const;

  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  [[nodiscard]] std::size_t held() const { return held_; }
  // Of memory: what is held, and what it takes to hold it.
  [[nodiscard]] std::size_t footprint() const {
    return held_ + extents_.size() * (sizeof(Extent) + kAllocation);
  }
  [[nodiscard]] bool refused() const { return refused_; }
  // Bytes that were moved to make room or to join extents.
  [[nodiscard]] std::uint64_t moved() const { return moved_; }
  void clear();

 private:
  static constexpr std::size_t kAllocation = 32;  // the smallest

  [[nodiscard]] bool may_move(std::size_t bytes);

  std::vector<Extent> extents_;  // sorted, disjoint
  std::size_t held_ = 0;
  std::uint64_t moved_ = 0;
  bool refused_ = false;
};

}  // namespace rpcrdma::model
