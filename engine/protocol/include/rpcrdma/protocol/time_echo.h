// An OPTIONAL feature of version 2 of our own, which shows that extensions work, in either
// direction: a time stamp that comes back, with that of who answered (docs/versions.md). In XDR:
//
//   const TIME_ECHO = 0x54454348;            /* rdma_opttype: "TECH" */
//   struct time_echo_call  { unsigned hyper te_sent; };
//   struct time_echo_reply { unsigned hyper te_sent; unsigned hyper te_answered; };
//
// Both times are nanoseconds, each by the clock of who wrote it: nothing is known of the two
// clocks' difference.
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
  std::uint64_t answered = 0;  // by the responder's
};

[[nodiscard]] std::array<std::uint8_t, kTimeEchoCallBytes> encode_time_echo(fabric::Time now);
// Of an answer; nothing if it is none.
[[nodiscard]] std::optional<TimeEcho> decode_time_echo(wire::Bytes info);
// The responder's side.
void add_time_echo(OptionRegistry& registry);

}  // namespace rpcrdma::protocol
