// Finds chunks that carry less data than their RDMA operations are worth.
#pragma once

#include <array>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class ChunkUse {
 public:
  // Notes an answered Call of the forward direction.
  void note(const model::Call& call, const model::Message& reply,
            const model::InlineThresholds& thresholds);
  // Called when the connection closes. `client`: the side that chooses the chunks.
  void report(Findings& findings, const roce::Connection& connection, int client) const;

 private:
  // Inline thresholds that could be agreed instead, in bytes: 2 KiB, 4 KiB, ... 256 KiB.
  static constexpr std::size_t kSizes = 8;

  struct Tally {
    std::uint64_t messages = 0;
    std::uint64_t operations = 0;
  };
  void long_message(std::uint64_t inline_bytes, std::uint64_t operations);

  std::uint64_t calls_ = 0;
  std::uint64_t first_frame_ = 0, last_frame_ = 0;  // of needless chunks
  Tally needless_;
  std::uint64_t needless_reads_ = 0, needless_writes_ = 0, needless_long_ = 0;
  std::uint64_t needless_bytes_ = 0;
  std::uint64_t first_long_ = 0;  // frame
  Tally long_;
  std::array<Tally, kSizes> fits_{};  // long messages by the smallest threshold that holds them
  std::uint64_t latest_frame_ = 0;
};

}  // namespace rpcrdma::rules
