// What comes from a live endpoint, taken as far as it is there, without waiting for more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

class LiveStream {
 public:
  using Clock = base::WholeBlocks::Clock;

  // Null, or why a frame is none that an endpoint sends, which ends the stream.
  using Check = std::function<const char*(const Frame&)>;

  // Of trace::connect_endpoint(), with the check of trace::live_check().
  explicit LiveStream(base::FileDescriptor fd, Check check = {}, base::LivePatience patience = {},
                      Clock::time_point now = Clock::now());

  // To wait for; -1 when nothing more will come.
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Reads once, and gives `take` each frame that is whole; valid during the call. Some hundred KiB
  // at most, so the caller is soon back.
  void read(const std::function<void(const Frame&)>& take, Clock::time_point now = Clock::now());

  // Ends the stream if it has not begun in time. To be called when deadline() has come, if there is
  // one; more often does no harm.
  void expire(Clock::time_point now = Clock::now());
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;

  // Why nothing more comes, unless the endpoint itself has ended the stream.
  [[nodiscard]] const std::string& why() const { return why_; }
  // It ended within a block, as that of an endpoint that was killed may.
  [[nodiscard]] bool cut_short() const { return fd_.get() < 0 && blocks_.within_block(); }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  // Of packets, those lost on the way to this reader, as statistics in the stream say.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void end(std::string why);
  void parse(std::span<const std::uint8_t> blocks, const std::function<void(const Frame&)>& take);

  base::FileDescriptor fd_;
  Check check_;
  base::WholeBlocks blocks_;
  std::vector<std::uint8_t> buffer_;
  // The section's and interface's blocks, and room behind them: with them, any later blocks are a
  // capture.
  std::vector<std::uint8_t> capture_;
  std::size_t head_ = 0;  // bytes of those blocks
  bool head_whole_ = false;
  std::uint64_t frames_ = 0;
  std::uint64_t dropped_ = 0;
  std::string why_;
};

}  // namespace rpcrdma::capture
