// InfiniBand transport headers as RoCE carries them (InfiniBand Architecture Specification, volume
// 1, chapter 9; annexes A16 and A17 for RoCE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

inline constexpr std::uint16_t kRoceUdpPort = 4791;
inline constexpr std::uint32_t kPsnMask = 0xffffff;
inline constexpr std::uint32_t kGsiQp = 1;  // QP 1: receives the CM's MADs

// BTH opcodes of the Reliable Connected service (table 35); the upper three bits are the service.
enum class Opcode : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadRespFirst = 0x0d,
  kReadRespMiddle = 0x0e,
  kReadRespLast = 0x0f,
  kReadRespOnly = 0x10,
  kAck = 0x11,
  kAtomicAck = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInv = 0x16,
  kSendOnlyInv = 0x17,
  kUdSendOnly = 0x64,
  kUdSendOnlyImm = 0x65,
  kCnp = 0x81,  // RoCEv2 congestion notification (annex A17)
};

// The transport service: the upper three bits of the opcode.
enum class Service : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnp = 4, kXrc = 5 };

// The extension headers of an opcode and its place in a message, by one table lookup. Known opcodes
// are those of RC, UC, UD and CNP. An unknown opcode has no other member set, except that XRC
// opcodes have names.
struct OpcodeInfo {
  bool known = false;  // decode_roce() and encode_roce() know its extension headers
  bool reth = false, aeth = false, deth = false, imm = false, ieth = false, atomic = false,
       atomic_ack = false;
  bool request = false;   // sent by the requester of the operation
  bool response = false;  // READ response, ACK, atomic ACK
  bool send = false, write = false, read_response = false;
  bool first = false, last = false;  // Only is both; READ request and ACK are both
  const char* name = "unknown";      // "SEND Only", "UD SEND Only", "RDMA READ Request", ...
};
[[nodiscard]] const OpcodeInfo& opcode_info(std::uint8_t opcode);

struct Bth {  // 12 bytes
  std::uint8_t opcode = 0;
  bool solicited = false;
  bool migreq = false;
  std::uint8_t pad_count = 0;  // 0..3 pad bytes after the payload
  std::uint8_t tver = 0;
  std::uint16_t pkey = 0xffff;
  bool fecn = false, becn = false;
  std::uint32_t dest_qp = 0;  // 24 bits
  bool ack_req = false;
  std::uint32_t psn = 0;  // 24 bits
};
inline constexpr std::size_t kBthBytes = 12;

struct Deth {  // 8 bytes
  std::uint32_t qkey = 0;
  std::uint32_t src_qp = 0;  // 24 bits
};

struct Reth {  // 16 bytes
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t dma_length = 0;  // bytes
};

enum class NakCode : std::uint8_t {
  kPsnSequence = 0,
  kInvalidRequest = 1,
  kRemoteAccess = 2,
  kRemoteOperational = 3,
  kInvalidRdRequest = 4,
};

struct Aeth {  // 4 bytes
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits

  [[nodiscard]] bool is_ack() const { return (syndrome >> 5) == 0; }
  [[nodiscard]] bool is_rnr() const { return (syndrome >> 5) == 1; }
  [[nodiscard]] bool is_nak() const { return (syndrome >> 5) == 3; }
  // ACK: credit count code; RNR: timer code; NAK: NakCode.
  [[nodiscard]] std::uint8_t value() const { return syndrome & 0x1f; }
};
// Returns "PSN Sequence Error", ...; "unknown" for a code that NakCode does not have.
[[nodiscard]] const char* nak_name(std::uint8_t code);
// Returns the time in nanoseconds that an RNR timer code means (table 45). Only its low five bits
// count.
[[nodiscard]] std::uint64_t rnr_timer_ns(std::uint8_t code);

struct AtomicEth {  // 28 bytes
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
};

// A decoded transport packet. opcode_info(bth.opcode) determines which members are set.
struct RocePacket {
  // A user-provided constructor sets each member once. A defaulted one zeroes the whole object
  // first, which costs more than decoding a packet.
  RocePacket() {}

  Bth bth;
  Aeth aeth;
  Bytes payload;  // without pad bytes and ICRC; points into the given span
  Reth reth;
  std::uint32_t icrc = 0;            // as on the wire, to compare with icrc(); 0 if not captured
  std::uint32_t immediate = 0;       // ImmDt
  std::uint32_t invalidate_key = 0;  // IETH
  // The rest is rare, and last: it costs no cache line of a packet without it.
  Deth deth;
  std::uint64_t atomic_ack = 0;  // AtomicAckETH: original remote data
  AtomicEth atomic;
};

// Decodes a packet from the BTH on. `packet` runs to the end of the captured bytes; `wire_length`
// is the length on the wire from the BTH through the ICRC (equal to packet.size() unless the
// capture cut the packet short; bytes beyond it are ignored). A cut-short payload is returned up to
// the captured length. Unknown opcodes decode as a BTH and a payload. Errors: kTruncated if the
// captured bytes end inside a header or wire_length has no room for the ICRC, kBadValue if pad
// count and length contradict each other (IBA 9.2: payload and pad are a multiple of 4 bytes).
[[nodiscard]] Result<RocePacket> decode_roce(Bytes packet, std::size_t wire_length);

// The same in place, for callers that decode every packet of a capture. Sets only the members of
// `out` that the opcode has; the others keep their values. Returns false where the other overload
// returns an error.
[[nodiscard]] bool decode_roce(Bytes packet, std::size_t wire_length, RocePacket& out);

// The BTH of a packet whose other headers the capture may have cut off; nothing if it is cut
// itself.
[[nodiscard]] std::optional<Bth> decode_bth(Bytes packet);

// Writes BTH through payload and pad bytes; the caller, who knows the IP header, adds the ICRC.
// Returns the length without the 4 bytes of ICRC. Sets pad_count from the payload's length. Only
// the low bits of a value wider than its field are written. Error: kNoSpace, with nothing written.
[[nodiscard]] std::size_t encoded_size(const RocePacket& packet);
[[nodiscard]] Result<std::size_t> encode_roce(const RocePacket& packet, MutableBytes out);

}  // namespace rpcrdma::wire
