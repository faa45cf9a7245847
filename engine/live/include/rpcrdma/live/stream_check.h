// Checks that a stream is one that an endpoint would send (hub.h). The other end of the socket may
// be hostile, and readers keep state per ring and write the stream to disk.
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
  // Loss events report other events, received or missing: there are never more of them than those
  // other events plus this many.
  static constexpr std::uint64_t kMostLosses = 4096;

  // `data`: of the stream's next packet. Error: why no endpoint sends it, as the end of a sentence
  // for display; the stream is useless from then on.
  [[nodiscard]] tl::expected<EventView, const char*> take(std::span<const std::uint8_t> data);

 private:
  bool begun_ = false;  // the Endpoint event has arrived
  std::uint64_t events_ = 0;
  std::uint64_t losses_ = 0;
};

// Returns null, or why an endpoint does not send this frame.
using FrameCheck = std::function<const char*(const base::Frame&)>;

// Returns the check for a capture::LiveStream of connect_endpoint() or connect_packets(). A stream
// of packets has nothing to check.
[[nodiscard]] FrameCheck live_check();

}  // namespace rpcrdma::trace
