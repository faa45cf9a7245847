// Reads the stream of a live endpoint as far as it has arrived, without waiting for more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

class LiveStream {
 public:
  using Clock = base::WholeBlocks::Clock;

  // Returns null, or why an endpoint does not send such a frame; that ends the stream.
  using Check = std::function<const char*(const Frame&)>;

  // `fd` comes from trace::connect_endpoint(), or is a pipe: then read() waits, unless the pipe
  // does not block or has data. `check` comes from trace::live_check().
  explicit LiveStream(base::FileDescriptor fd, Check check = {}, base::LivePatience patience = {},
                      Clock::time_point now = Clock::now());

  // The descriptor to wait for; -1 when nothing more will come.
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Reads once and passes each whole frame to `take`, valid during the call. It reads at most some
  // hundred KiB, so it returns soon.
  void read(const std::function<void(const Frame&)>& take, Clock::time_point now = Clock::now());

  // Does the same with bytes that the caller has read from the descriptor (trace::StreamReader).
  void add(std::span<const std::uint8_t> bytes, const std::function<void(const Frame&)>& take,
           Clock::time_point now = Clock::now());

  // Ends the stream: `why` as in why().
  void end(std::string why);

  // Ends the stream if it has not begun in time. Call it when deadline() has passed, if there is
  // one; extra calls are harmless.
  void expire(Clock::time_point now = Clock::now());
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;

  // Why the stream ended; empty if the endpoint ended it itself.
  [[nodiscard]] const std::string& why() const { return why_; }
  // The stream ended within a block, as happens when an endpoint is killed.
  [[nodiscard]] bool cut_short() const { return fd_.get() < 0 && blocks_.within_block(); }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  // Packets lost on the way to this reader, by the statistics in the stream.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void parse(std::span<const std::uint8_t> blocks, const std::function<void(const Frame&)>& take);

  base::FileDescriptor fd_;
  Check check_;
  base::WholeBlocks blocks_;
  std::vector<std::uint8_t> buffer_;
  // The blocks of the section and its interfaces, with room for more: together with them, any later
  // blocks form a capture.
  std::vector<std::uint8_t> capture_;
  std::size_t head_ = 0;  // bytes of those blocks
  bool head_whole_ = false;
  std::uint64_t frames_ = 0;
  std::uint64_t dropped_ = 0;
  std::string why_;
};

}  // namespace rpcrdma::capture
