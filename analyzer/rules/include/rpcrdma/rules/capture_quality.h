// How far a capture can be trusted: what it lacks, and which connections that concerns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/roce/connections.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::rules {

struct Trust {
  struct Gap {
    std::uint64_t amount = 0;               // packets, messages or connections
    std::uint64_t connections = 0;          // that it concerns
    std::vector<std::uint32_t> connection;  // their IDs in the report: the first ones
  };
  static constexpr std::size_t kNamed = 8;

  Gap lost;              // packets that their receiver acknowledged and the capture does not have
  Gap cut_short;         // messages of which the capture has only the beginning
  Gap one_sided;         // connections with packets of one direction only
  Gap clock_steps_back;  // connections on which a packet is older than the one before it
  Gap begun_before;      // connections whose set-up is not in the capture
  // Of recordings: connections of whose endpoint some events are missing, and such of which the
  // peer's RDMA operations are not told, as it is with most RNICs.
  Gap events_lost;
  Gap operations_unseen;

  // Nothing is missing but what came before the capture, and what an endpoint cannot see.
  [[nodiscard]] bool complete() const {
    return lost.amount == 0 && cut_short.amount == 0 && one_sided.amount == 0 &&
           clock_steps_back.amount == 0 && events_lost.amount == 0;
  }
};

// "connections 1, 4 and 2 more"
[[nodiscard]] std::string where(const Trust::Gap& gap);

// "1 datagram is longer than any packet"
[[nodiscard]] std::string coalesced_packets(std::uint64_t n);
// "1 packet that its receiver acknowledged is not in the capture"
[[nodiscard]] std::string lost_packets(std::uint64_t n);
inline constexpr const char* kUnglue =
    "Segmentation offload had put several packets together. Capture with it off (ethtool -K DEVICE "
    "tx-udp-segmentation off), or on the wire; this program's own endpoints send packets apart "
    "with --exact.";

// What to do about wrong ICRCs: a constant.
[[nodiscard]] const char* icrc_advice(const roce::PacketStats& packets);

// What speaks against a capture, to be told of the whole.
struct CaptureCaveat {
  std::uint32_t topic = 0;  // tells the doubts of rule CAPTURE apart
  std::string text;         // one clause, without a full stop
  const char* advice = nullptr;
};
// Those that a sum over all packets does not tell. `unlisted`: connections that are
// summed up and not listed.
[[nodiscard]] std::vector<CaptureCaveat> capture_caveats(const Trust& trust,
                                                         std::uint64_t unlisted);

}  // namespace rpcrdma::rules
