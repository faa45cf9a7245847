// Keeps a live endpoint's pcapng stream as it comes, so that what is kept ends with a whole block
// whenever the stream ends. Whoever writes into the socket may be hostile: a stream that is not as
// an endpoint sends it, or does not come, is broken off, so that its reader neither waits for ever
// nor keeps what grows without a packet.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rpcrdma::base {

// What a reader waits for.
struct LivePatience {
  // Until the stream has begun: its section, its interface and, where that carries an endpoint's
  // events, the first of them, which an endpoint sends at once.
  std::chrono::nanoseconds begin = std::chrono::seconds(5);
  // From a block's first byte to its last, while its bytes trickle in.
  std::chrono::nanoseconds block = std::chrono::seconds(10);
};

class WholeBlocks {
 public:
  using Clock = std::chrono::steady_clock;

  // More than any block of an endpoint has.
  static constexpr std::size_t kMaxBlock = std::size_t{1} << 20;
  // An endpoint's stream has one section and one interface, whose name is 64 KiB at most.
  static constexpr std::size_t kMaxInterfaces = 16;
  static constexpr std::size_t kMaxHead = std::size_t{256} << 10;
  // All blocks that are neither of these nor packets, such as statistics, are together not more
  // than this and what the packets take.
  static constexpr std::size_t kMaxBeside = std::size_t{1} << 20;

  explicit WholeBlocks(LivePatience patience = {}, Clock::time_point now = Clock::now())
      : patience_(patience), opened_(now) {}

  // Gives the blocks that are whole now that `bytes` have come too; valid until the next call.
  [[nodiscard]] std::span<const std::uint8_t> add(std::span<const std::uint8_t> bytes,
                                                  Clock::time_point now = Clock::now());
  // Until then the stream has to begin, else expire() breaks it off; nothing when it has begun.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;
  void expire(Clock::time_point now);

  // No endpoint sends this stream: nothing more is given.
  [[nodiscard]] bool broken() const { return why_ != nullptr; }
  // Why, for a person, as the end of a sentence.
  [[nodiscard]] const char* why() const { return why_ != nullptr ? why_ : ""; }
  // A block has begun and is not whole.
  [[nodiscard]] bool within_block() const { return given_ != bytes_.size(); }

 private:
  void take(std::span<const std::uint8_t> block);
  void watch_trickle(bool progress, Clock::time_point now);

  LivePatience patience_;
  Clock::time_point opened_;
  std::vector<std::uint8_t> bytes_;
  std::size_t given_ = 0;  // of bytes_
  const char* why_ = nullptr;
  bool section_ = false;  // has come
  bool begun_ = false;    // the stream has, see LivePatience
  std::size_t interfaces_ = 0;
  std::uint64_t head_ = 0, packets_ = 0, beside_ = 0;  // bytes of whole blocks
  // Of the block that is not whole.
  Clock::time_point block_began_;
  std::size_t reads_ = 0;
};

}  // namespace rpcrdma::base
