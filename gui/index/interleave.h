// Puts the frames of several live streams in the order of their times, as far as they come in time.
// The ends of one connection report each message twice; in order, its sender's report comes first,
// and what leads to a Reply lies between its Call and the Reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::index {

class Interleave {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a frame waits for earlier ones of a stream that is silent.
  static constexpr auto kPatience = std::chrono::milliseconds(200);

  explicit Interleave(std::size_t streams) : streams_(streams) {}

  // Keeps a copy of the next frame of a stream. `first`: it comes before all frames with a time,
  // for what describes a connection that existed before.
  void add(std::size_t stream, const capture::Frame& frame, bool first, Clock::time_point now);
  // The stream has no further frames: the others no longer wait for it.
  void end(std::size_t stream) { streams_[stream].ended = true; }

  // No frame of the stream waits.
  [[nodiscard]] bool is_empty(std::size_t stream) const { return streams_[stream].held.empty(); }

  // Passes on the frames whose turn has come.
  void pass(Clock::time_point now, const std::function<void(const capture::Frame&)>& take);
  // Passes on all that is left.
  void drain(const std::function<void(const capture::Frame&)>& take);
  // When to call pass() again at the latest; nothing: no frame waits.
  [[nodiscard]] std::optional<Clock::time_point> due() const;

 private:
  // Memory for frames that wait. Beyond it, the oldest ones wait no longer.
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  struct Held {
    capture::Frame frame;
    std::vector<std::uint8_t> bytes;
    std::int64_t order_ns = 0;
    Clock::time_point came;
  };
  struct Stream {
    std::deque<Held> held;
    bool ended = false;
  };
  // The stream whose frame is next; null: none has one.
  [[nodiscard]] Stream* earliest();
  void pass_one(Stream& from, const std::function<void(const capture::Frame&)>& take);

  std::vector<Stream> streams_;
  std::vector<std::vector<std::uint8_t>> spare_;  // buffers to use again
  std::size_t bytes_ = 0;
};

}  // namespace rpcrdma::index
