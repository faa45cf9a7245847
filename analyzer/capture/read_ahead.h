// Reads a stream ahead in a thread of its own: a decompressor then works at the same time as what
// processes the bytes. Its memory is bounded: the thread waits while all blocks are full.
//
// Not for streams that may block for long, such as pipes: the destructor waits for the read that is
// under way.
#pragma once

#include "byte_stream.h"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rpcrdma::capture {

class ReadAhead final : public ByteStream {
 public:
  explicit ReadAhead(std::unique_ptr<ByteStream> source) : source_(std::move(source)) {}
  ~ReadAhead() override;

  Expected<std::size_t> read(std::span<std::uint8_t> out) override;
  // Up to the bytes that were returned, not those read ahead.
  std::uint64_t stored() const override { return stored_; }

 private:
  static constexpr std::size_t kBlocks = 8;
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

  struct Block {
    std::vector<std::uint8_t> bytes;
    std::size_t size = 0;
    std::uint64_t stored = 0;  // ByteStream::stored() at its end
  };
  enum class Thread : std::uint8_t { kNotYet, kRuns, kNone };

  Expected<std::size_t> read_here(std::span<std::uint8_t> out);
  void start();
  void work() noexcept;
  [[nodiscard]] bool fill(Block& block);

  std::unique_ptr<ByteStream> source_;  // the thread's, while it runs
  Thread thread_state_ = Thread::kNotYet;
  std::uint64_t read_here_ = 0;
  std::uint64_t stored_ = 0;
  std::size_t position_ = 0;  // in the block that is being read
  std::thread thread_;

  std::mutex mutex_;  // guards all below but the contents of blocks
  std::condition_variable readable_, writable_;
  std::array<Block, kBlocks> blocks_;
  std::uint64_t filled_ = 0;   // blocks; the n-th is in place n % kBlocks
  std::uint64_t emptied_ = 0;  // blocks
  bool ended_ = false;         // by the thread: no block follows
  bool stopping_ = false;      // by the reader
  bool no_memory_ = false;
  Error error_;  // of the source, if not empty
};

}  // namespace rpcrdma::capture
