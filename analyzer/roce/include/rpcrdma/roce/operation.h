// RDMA operations, reassembled from packets or recorded by an endpoint.
#pragma once

#include <cstdint>
#include <span>

namespace rpcrdma::roce {

enum class OpKind : std::uint8_t { kWrite, kRead };

// An RDMA WRITE or RDMA READ. It stays in the tracker from its first packet to its end.
struct Operation {
  OpKind kind = OpKind::kWrite;
  std::uint8_t initiator = 0;  // the side that posted it
  std::uint32_t handle = 0;    // rkey of its RETH
  std::uint32_t length = 0;    // DMA length of its RETH, bytes
  std::uint64_t offset = 0;    // virtual address of its RETH
  std::uint32_t psn = 0;  // of its first packet; from an endpoint: only the order is meaningful
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t bytes = 0;  // seen, each byte counted once
  bool complete = false;    // every byte was seen
  bool answered = false;    // READ: all responses were seen, even if they had too few bytes
  bool suspect = false;     // some of its bytes come from a packet with a bad ICRC
  // Set by the listener in on_operation() to receive the data.
  bool want_data = false;
  std::uint64_t tag = 0;  // for the listener's use
};

// The content of one SEND.
struct SendMessage {
  std::uint8_t sender = 0;
  std::uint64_t first_frame = 0;
  std::uint64_t frame = 0;  // of its last packet, which completes the message
  std::int64_t first_ns = 0;
  std::int64_t time_ns = 0;
  std::uint32_t first_psn = 0;
  std::uint32_t psn = 0;               // of the last packet seen
  bool psn_known = true;               // both PSNs are known; a recording does not contain them
  std::span<const std::uint8_t> data;  // valid during the call
  std::uint64_t wire_length = 0;       // bytes sent; more than data.size() where bytes are missing
  bool complete = true;  // false: truncated by the snapshot length, or packets are missing
  // Absent: with kAbsentBytes, `data` is a header that was encoded from known fields, and the first
  // words of the RPC message: it is no evidence of what the sender sent.
  std::uint16_t absent = 0;
  bool suspect = false;        // a packet of it had a bad ICRC
  bool ce = false;             // a packet of it was marked CE
  bool ack_requested = false;  // by its last packet
  bool has_invalidate = false;
  std::uint32_t invalidate_handle = 0;  // Send With Invalidate
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  const void* predecoded = nullptr;  // PreparedPacket::predecoded, if the message is one packet
};

}  // namespace rpcrdma::roce
