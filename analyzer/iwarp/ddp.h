// The headers of DDP and RDMAP (RFC 5040, RFC 5041, RFC 7306), which one FPDU carries.
#pragma once

#include "tcp_segment.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rpcrdma::iwarp {

enum class Rdmap : std::uint8_t {
  kWrite = 0,
  kReadRequest = 1,
  kReadResponse = 2,
  kSend = 3,
  kSendInvalidate = 4,
  kSendSolicited = 5,
  kSendSolicitedInvalidate = 6,
  kTerminate = 7,
  kImmediate = 8,
  kImmediateSolicited = 9,
  kAtomicRequest = 10,
  kAtomicResponse = 11,
};

inline constexpr std::size_t kTaggedHeader = 14;
inline constexpr std::size_t kUntaggedHeader = 18;

struct DdpSegment {
  bool tagged = false;
  bool last = false;  // of its message
  Rdmap opcode = Rdmap::kSend;
  std::uint32_t stag = 0;            // tagged; untagged: the STag that a Send with Invalidate names
  std::uint64_t offset = 0;          // tagged
  std::uint32_t queue = 0;           // untagged
  std::uint32_t sequence = 0;        // untagged: MSN
  std::uint32_t message_offset = 0;  // untagged: MO
  std::size_t header = 0;            // bytes
};

// Whether these bytes can begin a ULPDU of `length` bytes: versions, reserved bits, and the opcode
// that fits its queue. False if fewer bytes are there than its header needs.
[[nodiscard]] bool decode_ddp(Bytes ulpdu, std::size_t length, DdpSegment& out);

struct ReadRequest {
  std::uint32_t sink_stag = 0;
  std::uint64_t sink_offset = 0;
  std::uint32_t length = 0;
  std::uint32_t source_stag = 0;
  std::uint64_t source_offset = 0;
};
inline constexpr std::size_t kReadRequestBytes = 28;
// `payload` has at least kReadRequestBytes.
[[nodiscard]] ReadRequest decode_read_request(Bytes payload);

// The error of a Terminate message, for people: "RDMAP, remote protection error: invalid STag".
[[nodiscard]] std::string terminate_text(Bytes payload);

}  // namespace rpcrdma::iwarp
