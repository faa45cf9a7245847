// Options of a channel in short form for tests.
#pragma once

#include <cstdint>

#include <rpcrdma/protocol/channel.h>

namespace rpcrdma::protocol::testing {

// The same inline threshold in both directions, bytes.
inline ChannelOptions options_with(std::uint32_t threshold, std::uint32_t max_segment = 1U << 30) {
  ChannelOptions o;
  o.terms.inline_send = o.terms.inline_receive = threshold;
  o.max_segment = max_segment;
  return o;
}

}  // namespace rpcrdma::protocol::testing
