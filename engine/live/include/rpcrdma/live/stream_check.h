// Holds what comes as an endpoint's events to what an endpoint sends (hub.h). Whoever writes into
// the socket may be hostile, and readers keep something of each ring, and write down what comes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <tl/expected.hpp>

#include <rpcrdma/base/frame.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace {

class StreamCheck {
 public:
  // Loss events say what other events have come or are missing: there are never more of them than
  // this and those others.
  static constexpr std::uint64_t kMostLosses = 4096;

  // `data`: of the stream's next packet. Error: why no endpoint sends it, for a person, as the end
  // of a sentence; the stream is of no use then.
  [[nodiscard]] tl::expected<EventView, const char*> take(std::span<const std::uint8_t> data);

 private:
  bool begun_ = false;  // who tells is known
  std::uint64_t events_ = 0;
  std::uint64_t losses_ = 0;
};

// Null, or why an endpoint does not send this frame.
using FrameCheck = std::function<const char*(const base::Frame&)>;

// The same for a capture::LiveStream of connect_endpoint() or connect_packets(): a stream of
// packets has nothing to check.
[[nodiscard]] FrameCheck live_check();

}  // namespace rpcrdma::trace
