// Splits a live endpoint's pcapng stream into whole blocks, so that a recording ends with a whole
// block whenever the stream ends. The writer of the socket may be hostile: a stream that is
// stalled, or that no endpoint would send, is aborted, so that its reader neither waits forever nor
// stores unbounded data without packets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rpcrdma::base {

// How long a reader waits.
struct LivePatience {
  // Until the stream has started: its section, its interface and, if the interface carries an
  // endpoint's events, the first event. An endpoint sends all of these at once.
  std::chrono::nanoseconds begin = std::chrono::seconds(5);
  // From a block's first byte to its last, while its bytes trickle in.
  std::chrono::nanoseconds block = std::chrono::seconds(10);
};

class WholeBlocks {
 public:
  using Clock = std::chrono::steady_clock;

  // Larger than any block of an endpoint.
  static constexpr std::size_t kMaxBlock = std::size_t{1} << 20;
  // An endpoint's stream has one section and one interface with a name of at most 64 KiB.
  static constexpr std::size_t kMaxInterfaces = 16;
  static constexpr std::size_t kMaxHead = std::size_t{256} << 10;
  // All other blocks, such as statistics, may have this many bytes in total, plus as many as the
  // packets have.
  static constexpr std::size_t kMaxBeside = std::size_t{1} << 20;

  explicit WholeBlocks(LivePatience patience = {}, Clock::time_point now = Clock::now())
      : patience_(patience), opened_(now) {}

  // Adds received bytes and returns the blocks that are now whole; valid until the next call.
  [[nodiscard]] std::span<const std::uint8_t> add(std::span<const std::uint8_t> bytes,
                                                  Clock::time_point now = Clock::now());
  // The time by which the stream must have started; after it, expire() aborts the stream. Nothing
  // if it has started.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;
  void expire(Clock::time_point now);

  // No endpoint would send this stream, or it stalled: no more blocks are returned.
  [[nodiscard]] bool broken() const { return why_ != nullptr; }
  // The reason, as text for the end of a sentence.
  [[nodiscard]] const char* why() const { return why_ != nullptr ? why_ : ""; }
  // Returns whether the last block is incomplete.
  [[nodiscard]] bool within_block() const { return given_ != bytes_.size(); }

 private:
  void take(std::span<const std::uint8_t> block);
  void watch_trickle(bool progress, Clock::time_point now);

  LivePatience patience_;
  Clock::time_point opened_;
  std::vector<std::uint8_t> bytes_;
  std::size_t given_ = 0;  // bytes already returned
  const char* why_ = nullptr;
  bool section_ = false;  // seen
  bool begun_ = false;    // the stream has started, see LivePatience
  std::size_t interfaces_ = 0;
  std::uint64_t head_ = 0, packets_ = 0, beside_ = 0;  // bytes of whole blocks
  // State of the incomplete block.
  Clock::time_point block_began_;
  std::size_t reads_ = 0;
};

}  // namespace rpcrdma::base
