// One RPC-over-RDMA message as seen: its transport header and what is known of the RPC message that
// it conveys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/decode/padding.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/roce/absent.h>
#include <rpcrdma/roce/operation.h>
#include <rpcrdma/wire/dialects.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::model {

// kControl: messages of later version 2 dialects other than Calls, Replies and errors: grants,
// transport properties, and parts of RPC messages that continue in another Send.
enum class Kind : std::uint8_t { kCall, kReply, kError, kDone, kOption, kMalformed, kControl };
[[nodiscard]] const char* kind_name(Kind kind);  // "call", "reply", ...

// The list of a header that contains a chunk. kReplyRead: the Read list of a Reply (RFC 5666
// section 3.5), whose memory the requester reads.
enum class ChunkList : std::uint8_t { kRead, kWrite, kReply, kReplyRead };
[[nodiscard]] const char* chunk_list_name(ChunkList list);  // "read", "write", "reply"
// The list by which statistics count a chunk: a Read chunk is one in Calls and in Replies.
[[nodiscard]] constexpr ChunkList counted_list(ChunkList list) {
  return list == ChunkList::kReplyRead ? ChunkList::kRead : list;
}
// Whether the peer of the memory's owner reads it.
[[nodiscard]] constexpr bool is_read_list(ChunkList list) {
  return counted_list(list) == ChunkList::kRead;
}

// An RDMA operation that moved bytes of a chunk.
struct ChunkOperation {
  roce::OpKind kind = roce::OpKind::kWrite;
  ChunkList list = ChunkList::kWrite;
  std::uint32_t chunk = 0;    // index in its list; Read list: by position
  std::uint32_t segment = 0;  // index in its chunk
  std::uint32_t handle = 0;
  std::uint32_t length = 0;  // bytes requested
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // bytes seen
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  bool complete = false;
  bool suspect = false;
};

// Whether a Reply shows the operation: it moved results. Otherwise the Call shows it.
[[nodiscard]] inline bool is_of_reply(const ChunkOperation& o) {
  return o.kind == roce::OpKind::kWrite || o.list == ChunkList::kReplyRead;
}

// Content of the RPC header; for a Call whose header is not visible, the procedure may come from
// the endpoint's recording. In a Reply, program, version and procedure are those of its Call.
struct RpcInfo {
  bool known = false;  // program, version, procedure are valid
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  std::uint32_t cred_flavor = 0;  // Calls, with header_seen
  bool header_seen = false;       // the RPC header of this message itself was decoded
  wire::ReplyStat reply_stat = wire::ReplyStat::kAccepted;
  wire::AcceptStat accept_stat = wire::AcceptStat::kSuccess;
  wire::RejectStat reject_stat = wire::RejectStat::kRpcMismatch;
  std::uint32_t vers_low = 0, vers_high = 0;  // Replies: of a PROG_MISMATCH or RPC_MISMATCH
  std::uint32_t auth_stat = 0;                // Replies: of an AUTH_ERROR
  // The wrapping of arguments or results, valid with header_seen. NFS statuses and operations are
  // decoded from readable bodies only.
  decode::Wrapping wrapping = decode::Wrapping::kUnknown;
  // Replies to NFS procedures: the status word at the front of their results.
  bool has_status = false;
  std::uint32_t status = 0;
  decode::CompoundOps ops;  // NFSv4: of the Call, also in its Reply
};

// Returns what a binding, or a decoder of the Reply, needs to know of the RPC.
[[nodiscard]] inline decode::ProcedureId procedure_of(const RpcInfo& rpc) {
  return {rpc.program, rpc.version, rpc.procedure, rpc.wrapping};
}

// A credit ledger at one moment. What its source does not show stays 0 and is not known.
struct Credits {
  std::uint32_t requested = 0;  // by the latest Call
  std::uint32_t granted = 0;    // by the latest Reply; 0 before the first
  std::uint32_t in_use = 0;     // Calls in flight
  bool requested_known = true;
  bool granted_known = true;
};

struct Message {
  std::uint64_t id = 0;           // counts from 1 in capture order
  std::uint64_t first_frame = 0;  // of its SEND
  std::uint64_t frame = 0;        // the last frame of its SEND
  std::int64_t first_ns = 0;
  std::int64_t time_ns = 0;
  std::uint32_t first_psn = 0;   // of its SEND
  std::uint32_t psn = 0;         // of the last packet of its SEND
  bool psn_known = true;         // of both
  std::uint32_t connection = 0;  // roce::Connection::index
  std::uint8_t sender = 0;       // the side that sent the message
  std::uint8_t caller = 0;       // the side that sent, or would have sent, the Call of this message
  Kind kind = Kind::kCall;

  std::uint32_t xid = 0;
  std::uint32_t version = 0;
  std::uint32_t credit = 0;
  std::uint32_t proc = 0;
  wire::Dialect dialect = wire::Dialect::kDraft02;  // of its connection, for version 2
  wire::MsgType direction = wire::MsgType::kCall;   // version 2: as its header states
  std::uint32_t header_length = 0;                  // bytes
  std::uint64_t wire_length = 0;                    // of the SEND, bytes
  bool complete = true;                             // all bytes of the SEND were captured
  bool suspect = false;                             // a packet of it had a bad ICRC
  bool ce = false;                                  // a packet of it was marked CE
  std::uint16_t absent = 0;                         // roce::Absent: these members are not known

  std::vector<wire::ReadSegment> reads;
  std::vector<wire::Segment> write_segments;  // of all Write chunks, in order
  std::vector<std::uint32_t> write_counts;    // segments of each Write chunk
  bool has_reply_chunk = false;
  std::vector<wire::Segment> reply_segments;

  wire::RdmaErr error = wire::RdmaErr::kVers;  // kError
  std::uint32_t vers_low = 0, vers_high = 0;
  bool processed = false;
  std::uint32_t segment_index = 0, length_needed = 0;
  std::uint32_t inv_handle = 0;               // version 2
  std::uint32_t opttype = 0;                  // RDMA2_OPTIONAL
  std::uint32_t align = 0, thresh = 0;        // RDMA_MSGP, bytes
  bool padding_found = false;                 // RDMA_MSGP: `padding` is all the padding there is
  std::vector<decode::PaddingRange> padding;  // after the header in the SEND
  bool last_part = false;  // of an RPC message whose earlier parts are in other SENDs
  std::optional<wire::DecodeError> malformed;  // kMalformed

  bool has_invalidate = false;  // Send With Invalidate was used
  std::uint32_t invalidated_handle = 0;
  bool has_immediate = false;  // Send with Immediate was used

  RpcInfo rpc;
  Credits credits;  // of its direction, after this message

  // The captured bytes after the header in the SEND, without padding that was found. Valid during
  // on_message() only.
  std::span<const std::uint8_t> payload;
  // The XID of the RPC message, wherever it was found; nothing until then.
  std::optional<std::uint32_t> rpc_xid;

  // The whole content of the SEND if the model keeps payload, else empty.
  std::vector<std::uint8_t> bytes;
  // In place of `bytes` where these are absent: a header encoded from the known fields.
  std::vector<std::uint8_t> encoded;

  // Set when the Call or Reply that matches it is seen. An RDMA_DONE matches the Reply whose Read
  // chunks it releases.
  std::uint64_t match_frame = 0;  // 0: none
  std::int64_t latency_ns = -1;   // from Call (RDMA_DONE: Reply) seen to this one; -1: unknown

  // Calls: how soon its sender's adapter recently acknowledged the peer's messages, as seen at the
  // capture point, smoothed; -1: unknown.
  std::int64_t acknowledges_after_ns = -1;

  // Prepares for reuse: resets everything but keeps the memory of the lists. Fields that every
  // message sets (frames, times, sender, kind) are left as they are.
  void reset();
};

[[nodiscard]] inline bool is_absent(const Message& m, roce::Absent what) {
  return (m.absent & what) != 0;
}

// Whether it is of version 2, in a later dialect than the drafts whose rules are known.
[[nodiscard]] inline bool later_dialect(const Message& m) {
  return m.dialect != wire::Dialect::kDraft02;
}
// The names of its rdma_proc and its rdma_err, in its version and dialect.
[[nodiscard]] const char* type_name(const Message& m);
[[nodiscard]] const char* error_name(const Message& m);

// Whether the RPC message is in a chunk: an RDMA_NOMSG, or its equivalent in a later dialect.
[[nodiscard]] bool is_external(const Message& m);

// Whether it is an RDMA2_OPTIONAL. With a whole RPC message in it, it is a Call or a Reply.
[[nodiscard]] bool is_option(const Message& m);

// For an RDMA_MSGP whose RPC message may contain padding in unknown places (RFC 5666 section 3.9):
// the length from which counted opaques may be padded; decode::kNotPadded if none can be.
[[nodiscard]] std::uint32_t padded_from(const Message& m);
[[nodiscard]] inline bool may_be_padded(const Message& m) {
  return padded_from(m) != decode::kNotPadded;
}

// The lowest Position of its Read chunks except Position Zero: from there on the RPC message
// differs from the inline bytes. UINT32_MAX: it has none.
[[nodiscard]] std::uint32_t first_position(const Message& m);

// Visits the segments of each Write chunk in turn.
template <typename Function>
void for_each_write_chunk(const Message& m, Function&& f) {
  std::size_t at = 0;
  std::uint32_t index = 0;
  for (const std::uint32_t count : m.write_counts) {
    f(index++, std::span(m.write_segments).subspan(at, count));
    at += count;
  }
}

}  // namespace rpcrdma::model
