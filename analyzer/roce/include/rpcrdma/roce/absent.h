// What a source of traffic cannot show. A value that is absent is unknown, not zero, and a rule
// that rests on it is not judged.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::roce {

// A set of these bits belongs to a connection, or to one message.
enum Absent : std::uint16_t {
  kNothingAbsent = 0,
  kAbsentBytes = 1,     // bytes of messages: only fields of their headers are known
  kAbsentCredit = 2,    // the credit value of a message
  kAbsentRequests = 4,  // the credit values of Calls (a connection's; a message has the bit above)
  kAbsentGrants = 8,    // the credit values of Replies
  kAbsentLengths = 16,  // lengths of messages
  kAbsentChunks = 32,   // chunk lists, or parts of them
  kAbsentInvalidation = 64,  // whether a message is a Send With Invalidate
  kAbsentSetup = 128,        // private data, and how many RDMA Reads may be in flight
  kAbsentOperations = 256,   // handle, offset and length of each RDMA Read and Write, as posted
  kAbsentRefusals = 512,     // NAKs, RNR NAKs and retransmissions
  kAbsentPackets = 1024,     // everything else that only packets show
  // All messages: the endpoint traces a sample of its connections, and this is not one of it.
  kAbsentMessages = 2048,
};
// What such a connection does not show: only its set-up and its end are recorded.
inline constexpr std::uint16_t kAbsentUnlessSampled =
    kAbsentMessages | kAbsentBytes | kAbsentRequests | kAbsentGrants | kAbsentLengths |
    kAbsentChunks | kAbsentInvalidation | kAbsentOperations | kAbsentRefusals;

// Where the traffic of a connection was seen.
enum class Origin : std::uint8_t {
  kPackets,
  kEndpoint,           // an endpoint of this project recorded it
  kKernelBpf,          // Linux, by BPF programs on the tracepoints of its RPC-over-RDMA
  kKernelTracepoints,  // Linux, by the records of those tracepoints
  kKernelSums,         // Linux, by BPF programs that count: no messages
};
inline constexpr std::size_t kOrigins = 5;
// "packets", "endpoint", "kernel BPF", "kernel tracepoints", "kernel sums"
[[nodiscard]] constexpr const char* origin_name(Origin origin) {
  switch (origin) {
    case Origin::kPackets:
      return "packets";
    case Origin::kEndpoint:
      return "endpoint";
    case Origin::kKernelBpf:
      return "kernel BPF";
    case Origin::kKernelTracepoints:
      return "kernel tracepoints";
    case Origin::kKernelSums:
      return "kernel sums";
  }
  return "packets";
}
[[nodiscard]] constexpr bool is_kernel(Origin origin) {
  return origin == Origin::kKernelBpf || origin == Origin::kKernelTracepoints ||
         origin == Origin::kKernelSums;
}

// Returns what no connection of this origin shows. A connection or a message may lack more.
[[nodiscard]] constexpr std::uint16_t absent_from(Origin origin) {
  switch (origin) {
    case Origin::kPackets:
      return kNothingAbsent;
    case Origin::kEndpoint:
      return kAbsentPackets;
    case Origin::kKernelBpf:
      return kAbsentPackets | kAbsentRefusals | kAbsentSetup;
    case Origin::kKernelTracepoints:
    case Origin::kKernelSums:
      return kAbsentPackets | kAbsentRefusals | kAbsentSetup | kAbsentOperations | kAbsentBytes;
  }
  return kNothingAbsent;
}

}  // namespace rpcrdma::roce
