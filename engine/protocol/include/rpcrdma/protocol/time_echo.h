// TIME_ECHO, an OPTIONAL feature of version 2 defined here to show that extensions work in either
// direction: a time stamp that comes back, with that of the peer (docs/versions.md). In XDR:
//
//   const TIME_ECHO = 0x54454348;            /* rdma_opttype: "TECH" */
//   struct time_echo_call  { unsigned hyper te_sent; };
//   struct time_echo_reply { unsigned hyper te_sent; unsigned hyper te_answered; };
//
// Both times are nanoseconds, each by the clock of its writer; the offset between the two clocks is
// unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/protocol/options.h>
#include <rpcrdma/wire/error.h>
#include <rpcrdma/wire/options.h>

namespace rpcrdma::protocol {

using wire::kTimeEchoCallBytes;
using wire::kTimeEchoOption;
using wire::kTimeEchoReplyBytes;

struct TimeEcho {
  std::uint64_t sent = 0;      // by the requester's clock
  std::uint64_t answered = 0;  // by the responder's clock
};

[[nodiscard]] std::array<std::uint8_t, kTimeEchoCallBytes> encode_time_echo(fabric::Time now);
// Decodes an answer; returns nothing if it is invalid.
[[nodiscard]] std::optional<TimeEcho> decode_time_echo(wire::Bytes info);
// Adds the responder's handler.
void add_time_echo(OptionRegistry& registry);

}  // namespace rpcrdma::protocol
