// Validates Calls received by a responder, and decides how an invalid one is answered.
#include "call_check.h"

#include <algorithm>

#include <rpcrdma/protocol/refusal_reasons.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::protocol {
namespace {

using wire::Proc;
using wire::xdr_padded;

constexpr const char* kNoMessage = "the stream ends before the XID and msg_type do";

class CallChecker {
 public:
  CallChecker(wire::Bytes message, const wire::HeaderView& header, const ResponderOptions& options,
              CheckedCall& call)
      : message_(message), header_(header), options_(options), call_(call) {}

  [[nodiscard]] CallVerdict run() {
    verdict_.xid = header_.xid;
    verdict_.version = call_.version = header_.vers;
    call_.inv_handle = header_.vers == kVersionTwo ? header_.inv_handle : 0;
    call_.xid = header_.xid;
    call_.credit = header_.credit;
    call_.offer = {};
    call_.writes.clear();
    if (payload() && chunks_allowed() && read_list() && padding() && write_list() &&
        reply_chunk()) {
      inv_handle();
    }
    return verdict_;
  }

 private:
  bool refuse(const char* rule, const char* reason) {
    verdict_.answer = CallAnswer::kErrorChunk;
    verdict_.rule = rule;
    verdict_.reason = reason;
    return false;
  }

  bool payload() {
    const wire::Bytes payload = message_.subspan(header_.length);
    if (header_.proc != Proc::kNomsg) {
      verdict_ = check_stream(payload, header_.xid, header_.vers);
      return verdict_.answer == CallAnswer::kServe;
    }
    return payload.empty() || refuse("HDR-07", "bytes follow the header of an RDMA_NOMSG");
  }

  bool chunks_allowed() {
    const bool none = header_.reads.empty() && header_.writes.empty() && !header_.reply;
    return options_.chunks || none || refuse("BI-04", "chunks are not supported in this direction");
  }

  bool padding() {
    if (header_.proc != Proc::kMsgp) return true;
    call_.padding = {header_.align, header_.thresh, header_.length};
    return (header_.align != 0 && header_.align <= kMaxAlign) ||
           refuse("DEP-01", "rdma_align is 0, or more than a page");
  }

  [[nodiscard]] std::uint32_t segments() const {
    return static_cast<std::uint32_t>(call_.segments.size());
  }

  // In a Write chunk or Reply chunk without bytes, a handle may have any value.
  bool inv_handle() {
    if (call_.inv_handle == 0) return true;
    return std::ranges::any_of(call_.segments,
                               [&](const auto& s) { return s.handle == call_.inv_handle; }) ||
           refuse("V2-03", "rdma_inv_handle is none of the Call's handles");
  }

  bool read_list() {
    const ReadLimits limits{options_.max_chunk_bytes, options_.max_segments};
    const Refusal bad = check_read_list(header_, message_.subspan(header_.length), limits, call_);
    return !bad || refuse(bad.rule, bad.reason);
  }

  bool add_all(const wire::WriteChunkView& chunk, ChunkRange& range) {
    range = {segments(), 0};
    for (const wire::Segment segment : chunk) {
      const Refusal bad = add_segment(segment, options_.max_segments, call_);
      if (bad) return refuse(bad.rule, bad.reason);
    }
    range.count = segments() - range.first;
    return true;
  }

  // A Write chunk without segments, or without bytes, requests that its result be sent inline.
  bool write_list() {
    if (header_.writes.size() > options_.max_write_chunks) {
      return refuse("", kTooManyWriteChunks);
    }
    for (const wire::WriteChunkView chunk : header_.writes) {
      ChunkRange& range = call_.writes.emplace_back();
      if (!add_all(chunk, range)) return false;
      call_.offer.add_write_chunk(total_length(chunk), range.count);
    }
    return true;
  }

  bool reply_chunk() {
    call_.reply = {};
    if (!header_.reply) return true;
    if (!add_all(*header_.reply, call_.reply)) return false;
    if (header_.reply->empty()) return refuse("RP-05", "the Reply chunk has no segment");
    for (const wire::Segment& segment : call_.of(call_.reply)) {
      if (segment.length == 0) return refuse("RP-05", "a segment of the Reply chunk has no bytes");
    }
    call_.offer.has_reply_chunk = true;
    call_.offer.reply_chunk = total_length(*header_.reply);
    call_.offer.reply_segments = call_.reply.count;
    return true;
  }

  const wire::Bytes message_;
  const wire::HeaderView& header_;
  const ResponderOptions& options_;
  CheckedCall& call_;
  CallVerdict verdict_;
};

bool is_proc_of_two(std::uint32_t proc) {
  switch (static_cast<Proc>(proc)) {
    case Proc::kMsg:
    case Proc::kNomsg:
    case Proc::kError:
    case Proc::kOptional:
      return true;
    case Proc::kMsgp:
    case Proc::kDone:
      break;
  }
  return false;
}

}  // namespace

CallVerdict check_stream(wire::Bytes stream, std::uint32_t xid, std::uint32_t version) {
  const auto verdict = [=](CallAnswer answer, const char* rule, const char* reason) {
    return CallVerdict{answer, xid, rule, reason, version};
  };
  if (stream.size() < kLeastStreamBytes) {
    return verdict(CallAnswer::kErrorChunk, "HDR-07", kNoMessage);
  }
  if (wire::load_be32(stream.data()) != xid) {
    return verdict(CallAnswer::kErrorChunk, "HDR-02", "the RPC message has another XID");
  }
  switch (wire::load_be32(stream.data() + 4)) {
    case static_cast<std::uint32_t>(wire::MsgType::kCall):
      return verdict(CallAnswer::kServe, "", "");
    case static_cast<std::uint32_t>(wire::MsgType::kReply):
      // No error answers a Reply (ERR-06), also if its rdma_direction is CALL.
      if (version == kVersionTwo) {
        return verdict(CallAnswer::kIgnore, "V2-02", "rdma_direction is not msg_type");
      }
      return verdict(CallAnswer::kIgnore, "BI-03", "a Reply to no Call");
    default:
      return verdict(CallAnswer::kErrorChunk, "HDR-07", "msg_type is not CALL or REPLY");
  }
}

CallVerdict check_call(wire::Bytes message, const wire::Result<wire::HeaderView>& header,
                       const Versions& versions, const ResponderOptions& options,
                       CheckedCall& call) {
  const auto prefix = wire::decode_prefix(message);
  if (!prefix) return {CallAnswer::kIgnore, 0, prefix.error().rule, prefix.error().what};
  const auto verdict = [&](CallAnswer answer, const char* rule, const char* reason) {
    return CallVerdict{answer, prefix->xid, rule, reason, prefix->vers};
  };
  // RDMA_ERROR has the same number in every version (RFC 8166 section 4.1.2).
  if (prefix->proc == static_cast<std::uint32_t>(Proc::kError)) {
    return verdict(CallAnswer::kIgnore, "ERR-06", "an RDMA_ERROR for no Call");
  }
  if (!versions.contains(prefix->vers)) {
    return verdict(CallAnswer::kErrorVersion, "HDR-03", "rdma_vers is not supported");
  }
  if (prefix->vers == kVersionTwo) {
    if (!is_proc_of_two(prefix->proc)) {
      return verdict(CallAnswer::kErrorProc, "V2-08", "rdma_proc is not one of 0, 1, 4, 5");
    }
    if (!header) return verdict(CallAnswer::kErrorChunk, header.error().rule, header.error().what);
    if (header->direction == wire::MsgType::kReply) {
      return verdict(CallAnswer::kIgnore, "HDR-10", "a Reply to no Call");
    }
    if (header->proc != Proc::kOptional) {
      return CallChecker(message, *header, options, call).run();
    }
    call.version = header->vers;
    call.xid = header->xid;
    call.credit = header->credit;
    call.begin();
    call.inv_handle = 0;
    call.offer = {};
    call.writes.clear();
    return verdict(CallAnswer::kOption, "", "");
  }
  if (prefix->proc == static_cast<std::uint32_t>(Proc::kDone)) {
    if (options.rfc5666) return verdict(CallAnswer::kDone, "", "");
    return verdict(CallAnswer::kIgnore, "DEP-01", "an RDMA_DONE that no Reply waits for");
  }
  if (prefix->proc == static_cast<std::uint32_t>(Proc::kMsgp) && !options.rfc5666) {
    return verdict(CallAnswer::kErrorChunk, "DEP-01", "RDMA_MSGP is not accepted");
  }
  if (!header) return verdict(CallAnswer::kErrorChunk, header.error().rule, header.error().what);
  return CallChecker(message, *header, options, call).run();
}

}  // namespace rpcrdma::protocol
