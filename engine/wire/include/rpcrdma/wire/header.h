// The RPC-over-RDMA transport header: version 1 (RFC 8166 section 4, RFC 5666 section 4) and
// version 2 (draft-cel-nfsv4-rpcrdma-version-two-02 section 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <rpcrdma/wire/chunks.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

// rdma_proc. MSGP and DONE exist in version 1 only, OPTIONAL in version 2 only.
enum class Proc : std::uint32_t {
  kMsg = 0,
  kNomsg = 1,
  kMsgp = 2,
  kDone = 3,
  kError = 4,
  kOptional = 5,
};

// msg_type of RFC 5531 section 9; rdma_direction and rdma_optdir of version 2.
enum class MsgType : std::uint32_t { kCall = 0, kReply = 1 };

// rdma_err. Version 1 knows 1 and 2 (there called ERR_CHUNK).
enum class RdmaErr : std::uint32_t {
  kVers = 1,
  kChunk = 2,  // version 2: RDMA2_ERR_BAD_XDR
  kCantReply = 3,
  kInvalProc = 4,
  kInvalOption = 5,
};

// The four words that have fixed offsets in every version (HDR-01).
struct Prefix {
  std::uint32_t xid = 0;
  std::uint32_t vers = 0;
  std::uint32_t credit = 0;
  std::uint32_t proc = 0;
};
inline constexpr std::size_t kPrefixBytes = 16;

// The chunk lists and the fields of the message type in front of them. The views of a decoded
// header point into the decoded span.
struct HeaderView {
  // A user-provided constructor sets each member once. A defaulted one zeroes the whole object
  // first, which takes as long as decoding a header.
  HeaderView() {}

  std::uint32_t xid = 0;
  std::uint32_t vers = 0;
  std::uint32_t credit = 0;
  Proc proc = Proc::kMsg;

  // Version 2: MSG, NOMSG (rdma_direction) and OPTIONAL (rdma_optdir).
  MsgType direction = MsgType::kCall;
  std::uint32_t inv_handle = 0;  // version 2, MSG and NOMSG

  std::uint32_t align = 0;   // MSGP: rdma_align, bytes
  std::uint32_t thresh = 0;  // MSGP: rdma_thresh, bytes

  ReadListView reads;
  WriteListView writes;
  std::optional<WriteChunkView> reply;  // the Reply chunk, if present (it can have no segments)

  RdmaErr error = RdmaErr::kVers;   // ERROR
  std::uint32_t vers_low = 0;       // ERR_VERS
  std::uint32_t vers_high = 0;      // ERR_VERS
  bool processed = false;           // CANT_REPLY: rdma_processed
  std::uint32_t segment_index = 0;  // CANT_REPLY: counts from 1; 0 is unknown
  std::uint32_t length_needed = 0;  // CANT_REPLY: bytes

  std::uint32_t opttype = 0;  // OPTIONAL
  Bytes optinfo;              // OPTIONAL

  std::uint32_t length = 0;  // of the header, in bytes; the rest of the Send is payload
};

// Decodes the first four words of any version. Error: kTruncated (HDR-01).
[[nodiscard]] Result<Prefix> decode_prefix(Bytes message);

// Decodes a whole header. `message` is the content of one RDMA Send; bytes after the header are
// ignored. Errors: kTruncated, kBadValue, and kUnsupported for a version other than 1 and 2
// (HDR-03), except for an ERR_VERS, which has the same form in every version. Positions, lengths
// and the order of vers_low and vers_high are not checked here. Only the first 2^31 bytes count,
// InfiniBand's limit on one Send.
[[nodiscard]] Result<HeaderView> decode_header(Bytes message);

// A header to send. The caller owns the chunk lists; encode_header() only reads them.
using WriteChunk = std::span<const Segment>;
struct Header {
  std::uint32_t xid = 0;
  std::uint32_t vers = 1;
  std::uint32_t credit = 0;
  Proc proc = Proc::kMsg;
  MsgType direction = MsgType::kCall;
  std::uint32_t inv_handle = 0;
  std::uint32_t align = 0;
  std::uint32_t thresh = 0;
  std::span<const ReadSegment> reads;
  std::span<const WriteChunk> writes;
  std::optional<WriteChunk> reply;
  RdmaErr error = RdmaErr::kVers;
  std::uint32_t vers_low = 0;
  std::uint32_t vers_high = 0;
  bool processed = false;
  std::uint32_t segment_index = 0;
  std::uint32_t length_needed = 0;
  std::uint32_t opttype = 0;
  Bytes optinfo;
};

// Returns the exact number of bytes that encode_header() writes. Only fields that the version and
// type carry count. 0 for a header that encode_header() refuses.
[[nodiscard]] std::size_t encoded_size(const Header& header);

// Writes the header to the front of `out` and returns its length. Errors: kNoSpace; kBadValue for a
// type or error code that the version does not have; kTooLong for a chunk or optinfo whose size
// does not fit into its 32-bit count; kUnsupported for another version, except for an ERR_VERS. On
// error nothing is written.
[[nodiscard]] Result<std::size_t> encode_header(const Header& header, MutableBytes out);

// Returns "RDMA_MSG", "RDMA2_NOMSG", ..., or "unknown": the name in the specification of `vers`.
[[nodiscard]] const char* proc_name(std::uint32_t vers, std::uint32_t proc);
// Returns "ERR_CHUNK", "RDMA2_ERR_CANT_REPLY", ..., or "unknown".
[[nodiscard]] const char* rdma_err_name(std::uint32_t vers, std::uint32_t err);

}  // namespace rpcrdma::wire
