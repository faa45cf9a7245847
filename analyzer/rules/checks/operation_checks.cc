// Checks RDMA Reads and Writes: only the responder may send them, only to memory that an in-flight
// Call advertises, and only in the direction for which it is advertised.
//
// The responder's operations and its Replies form one stream in the order of its PSNs. So packets
// behind a Reply in this stream were sent after it, wherever the capture was taken.
#include "checks.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/roce/psn.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::rules {

namespace {

using model::ChunkList;
using roce::OpKind;

// Limits the RDMA Reads in flight that are tracked; responder resources are one byte.
constexpr std::size_t kMaxReads = 512;

const char* kind_name(OpKind kind) {
  return kind == OpKind::kRead ? "Read" : "Write";
}

bool fits(OpKind kind, ChunkList list) {
  return (kind == OpKind::kRead) == model::is_read_list(list);
}

bool inside(const roce::Operation& op, const wire::Segment& target) {
  const std::uint64_t into = op.offset - target.offset;  // huge when below
  return into <= target.length && op.length <= target.length - into;
}

bool touches(const roce::Operation& op, const wire::Segment& target) {
  return op.offset - target.offset < target.length;
}

Evidence operation_evidence(const roce::Operation& op, const CheckContext& context) {
  Evidence e;
  e.connection = &context.connection;
  e.side = op.initiator;
  e.frames = {op.first_frame, 0};
  e.suspect = op.suspect;
  e.unsure = lists_unsure(context);
  return e;
}

// Checks an operation on memory of an in-flight Call, or of the Reply to an ended one.
void check_target(const roce::Operation& op, const model::Call& call, std::uint32_t index,
                  const CheckContext& context) {
  const model::CallSegment& segment = call.segments[index];
  Evidence e = operation_evidence(op, context);
  e.message = call.message.id;
  e.frames = {call.message.frame, op.first_frame};
  e.losses_before = call.losses_before;
  const bool of_reply = segment.list == ChunkList::kReplyRead;
  if (of_reply) e.frames[0] = call.reply->frame;
  const char* const sender = of_reply ? "requester" : "responder";
  const char* const message = of_reply ? "Reply" : "Call";
  if (!fits(op.kind, segment.list)) {
    // The same memory may also be in another list.
    if (segment.shared != model::Shared::kNo) return;
    e.topic = 1;
    context.findings.add(RuleId::kOps01, e, [&] {
      return fmt::format(
          "the {} sent an RDMA {} on handle {:#010x}, a segment of the {} chunk of {} {:#010x}",
          sender, kind_name(op.kind), op.handle, model::chunk_list_name(segment.list), message,
          call.message.xid);
    });
  } else if (!inside(op, segment.target)) {
    e.topic = 2;
    context.findings.add(RuleId::kOps01, e, [&] {
      return fmt::format(
          "the {} sent an RDMA {} of {} bytes at {} of handle {:#010x}, whose segment has {} bytes "
          "at {}",
          sender, kind_name(op.kind), op.length, op.offset, op.handle, segment.target.length,
          segment.target.offset);
    });
  }
}

const EndedSegment* find_ended(const roce::Operation& op, const ConnectionHistory& h) {
  const EndedSegment* best = nullptr;
  for (const EndedSegment& s : h.ended) {
    if (s.target.handle != op.handle || s.owner == op.initiator || !touches(op, s.target)) continue;
    if (best == nullptr || s.end_message > best->end_message) best = &s;
  }
  return best;
}

// Checks an operation on memory of no in-flight Call: too late, or never advertised?
void check_unmatched(const roce::Operation& op, const CheckContext& context) {
  const EndedSegment* ended = find_ended(op, context.history);
  Evidence e = operation_evidence(op, context);
  e.losses_before = model::losses(context.connection);
  if (ended == nullptr) {
    // If no Call is in flight, the Call may be missing, together with its ACK.
    const bool lone = context.model.caller[1U - op.initiator].credits.in_use == 0 &&
                      (context.model.client != op.initiator ||
                       (op.kind == OpKind::kRead && context.findings.profile() == Profile::k5666));
    if (lone) e.doubted_caller = 1 - op.initiator;
    context.findings.add(RuleId::kOps01, e, [&] {
      return fmt::format(
          "an RDMA {} accessed handle {:#010x} at {}, {}", kind_name(op.kind), op.handle, op.offset,
          lone ? "while no Call was in flight" : "which no in-flight Call advertises");
    });
    return;
  }
  e.frames = {ended->end_frame, op.first_frame};
  const bool late = !ended->invalidated && !ended->by_error && fits(op.kind, ended->list);
  context.findings.add(late ? RuleId::kOps02 : RuleId::kInv04, e, [&] {
    return fmt::format("an RDMA {} accessed handle {:#010x} after the {} that ended RPC {:#010x}{}",
                       kind_name(op.kind), op.handle, ended->by_error ? "RDMA_ERROR" : "Reply",
                       ended->xid, ended->invalidated ? " and invalidated the handle" : "");
  });
}

// Returns how many RDMA Reads `side` may have in flight, by the CM exchange.
std::optional<std::uint32_t> read_limit(std::size_t side, const roce::Connection& c) {
  const roce::CmSide& own = c.side[side].cm;
  const roce::CmSide& peer = c.side[1 - side].cm;
  if (c.setup != roce::Setup::kCm || !own.seen || !peer.seen || !own.depths_known ||
      !peer.depths_known) {
    return std::nullopt;
  }
  const std::uint32_t takes = peer.responder_resources;
  return own.initiator_depth == 0 ? takes : std::min<std::uint32_t>(takes, own.initiator_depth);
}

// The limit holds from the Reply of CONF_RDMA on, by which both sides know it.
void check_agreed_reads(const roce::Operation& op, std::size_t in_flight,
                        const CheckContext& context) {
  if (context.history.rare == nullptr) return;
  const AgreedReads& agreed = context.history.rare->agreed_reads[op.initiator];
  if (agreed.frame == 0 || in_flight <= agreed.most) return;
  Evidence e = operation_evidence(op, context);
  e.frames = {agreed.frame, op.first_frame};
  e.topic = 1;
  e.unsure = context.history.messages_unsure;
  e.at_most = Level::kWarning;  // the value SHOULD be observed
  context.findings.add(
      RuleId::kOps04, e,
      [&] {
        return fmt::format(
            "{} in flight, but the maxrdmaread of the peer is {}",
            in_flight == 1 ? "an RDMA Read was" : fmt::format("{} RDMA Reads were", in_flight),
            agreed.most);
      },
      "Have the side read its peer's maxrdmaread from CONF_RDMA, and queue further RDMA Reads "
      "until earlier ones complete.");
}

void check_reads_in_flight(const roce::Operation& op, const CheckContext& context) {
  if (op.kind != OpKind::kRead || op.suspect) return;
  std::vector<std::uint32_t>& reads = context.history.reads[op.initiator];
  if (reads.size() >= kMaxReads) reads.erase(reads.begin());
  reads.push_back(op.psn);
  if (context.connection.side[op.initiator].reads_recorded_at_start) return;
  check_agreed_reads(op, reads.size(), context);
  const auto limit = read_limit(op.initiator, context.connection);
  if (!limit || reads.size() <= *limit) return;
  Evidence e = operation_evidence(op, context);
  e.unsure = context.history.messages_unsure;
  context.findings.add(RuleId::kOps04, e, [&] {
    return fmt::format("{} RDMA Reads were in flight, but the CM exchange allows {}", reads.size(),
                       *limit);
  });
}

// Responses arrive in order, so when one Read completes, all earlier ones have, too, captured or
// not.
void note_read_done(const roce::Operation& op, const CheckContext& context) {
  std::vector<std::uint32_t>& reads = context.history.reads[op.initiator];
  const auto first_left = std::find_if(reads.begin(), reads.end(), [&](std::uint32_t psn) {
    return roce::psn_diff(psn, op.psn) > 0;
  });
  reads.erase(reads.begin(), first_left);
}

// Checks a Read that completed after the Reply to its Call.
void check_read_before_reply(const roce::Operation& op, const CheckContext& context) {
  if (op.kind != OpKind::kRead || !op.complete) return;
  const EndedSegment* ended = find_ended(op, context.history);
  if (ended == nullptr || ended->list != ChunkList::kRead) return;
  if (op.first_frame > ended->end_frame || op.last_frame < ended->end_frame) return;
  Evidence e = operation_evidence(op, context);
  e.frames = {ended->end_frame, op.last_frame};
  e.losses_before = model::losses(context.connection);
  e.topic = 1;
  context.findings.add(RuleId::kOps02, e, [&] {
    return fmt::format(
        "the responder answered Call {:#010x} before its RDMA Read of handle {:#010x} completed",
        ended->xid, op.handle);
  });
}

// Returns the roundup at the end of Write chunk `index` in bytes: by RFC 5666 the returned length
// includes it, but it is not written.
std::uint64_t counted_roundup(const model::Message& reply, const model::Call& call,
                              std::size_t index, const CheckContext& context, Scratch& s) {
  total_lengths(reply, s.returned);
  const std::uint64_t returned = s.returned[index];
  if (returned % 4 != 0) return 0;
  const model::RpcInfo& id = call.message.rpc;
  const auto rpc = wire::decode_rpc(rpc_message(reply, &call));
  if (!rpc || !has_binding(id, context)) return 3;
  if (model::may_be_padded(reply) || !reply.reads.empty()) return 3;
  const std::size_t found = decode::find_result_items(
      procedure_of(id), rpc_message(reply, &call).subspan(rpc->length), s.returned, s.items);
  for (const decode::DdpItem& item : std::span(s.items).first(found)) {
    if (item.chunk != static_cast<std::int32_t>(index)) continue;
    return wire::xdr_padded(item.length) == returned ? returned - item.length : 0;
  }
  return 3;
}

// Checks the segments of a Write chunk or the Reply chunk. `roundup` returns how many of the last
// bytes may be missing.
template <typename Roundup>
void check_chunk_written(std::span<const model::CallSegment> offered,
                         std::span<const wire::Segment> returned, const Evidence& e,
                         const CheckContext& context, const Roundup& roundup) {
  std::size_t last = returned.size();
  while (last != 0 && returned[--last].length == 0) {
  }
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const model::CallSegment& segment = offered[i];
    const std::uint64_t moved = segment.moved_of_it();
    if (segment.target.handle != returned[i].handle || moved == returned[i].length) continue;
    if (segment.shared != model::Shared::kNo) continue;
    const bool nearly = moved < returned[i].length && returned[i].length - moved < 4;
    if (nearly && i == last && returned[i].length - moved <= roundup()) continue;
    context.findings.add(RuleId::kOps03, e, [&] {
      return fmt::format("the responder wrote {} bytes to handle {:#010x}, but its Reply states {}",
                         moved, returned[i].handle, returned[i].length);
    });
  }
}

bool succeeded(const model::RpcInfo& reply) {
  return reply.header_seen && reply.reply_stat == wire::ReplyStat::kAccepted &&
         reply.accept_stat == wire::AcceptStat::kSuccess &&
         (!reply.has_status || reply.status == 0);
}

// Checks that a Read chunk was read, except roundup at its end. Returns whether it reported the
// chunk.
bool check_chunk_read(std::span<const model::CallSegment> chunk, const Evidence& e,
                      const model::Call& call, const CheckContext& context) {
  const std::optional<std::uint32_t> count = call.chunks[chunk.front().chunk].count;
  std::uint64_t length = 0;
  std::uint64_t missing = 0;
  for (const model::CallSegment& s : chunk) {
    if (s.shared != model::Shared::kNo) return false;
    length += s.target.length;
    missing += s.target.length - std::min<std::uint64_t>(s.moved_of_it(), s.target.length);
  }
  const std::uint64_t roundup = length % 4 != 0 ? 0 : count ? length - *count : 3;
  if (missing <= roundup) return false;
  context.findings.add(
      RuleId::kOps03, e,
      [&] {
        return fmt::format(
            "the responder read {} of {} bytes of the Read chunk at Position {} of Call {:#010x}, "
            "which succeeded",
            length - missing, length, chunk.front().position, call.message.xid);
      },
      "Check how the responder reads chunks of several segments: it acted on data that it did not "
      "read.");
  return true;
}

void packets_finding(std::size_t side, std::uint64_t count, std::uint32_t topic, const char* what,
                     const CheckContext& context) {
  if (count == 0) return;
  Evidence e;
  e.connection = &context.connection;
  e.side = static_cast<int>(side);
  e.count = count;
  e.topic = topic;
  e.frames = {context.connection.side[side].counters.first_irregular, 0};
  context.findings.add(RuleId::kOps05, e, [&] { return std::string(what); });
}

}  // namespace

void check_operation(const roce::Operation& op, const model::Call* call, std::uint32_t segment,
                     const CheckContext& context) {
  check_reads_in_flight(op, context);
  // The handle of an operation without bytes is not checked.
  if (op.length == 0) return;
  if (call != nullptr) {
    check_target(op, *call, segment, context);
  } else {
    check_unmatched(op, context);
  }
}

void check_operation_end(const roce::Operation& op, const model::Call* call, std::uint32_t segment,
                         const CheckContext& context) {
  if (op.kind == OpKind::kRead) {
    note_read_done(op, context);
    context.history.read_unanswered[op.initiator] = !op.complete && !op.answered;
  }
  // A Call whose Reply is being read has ended, too.
  const bool ended = call == nullptr || (call->reply != nullptr && segment < call->own_segments);
  if (ended) check_read_before_reply(op, context);
}

void check_bytes_written(const model::Message& reply, const model::Call& call,
                         const CheckContext& context, Scratch& scratch) {
  if (reply.kind != model::Kind::kReply || reply.header_length == 0) return;
  if (reply.write_segments.empty() && reply.reply_segments.empty()) return;
  Evidence e = evidence(reply, context.connection, reply.sender);
  e.frames = {call.message.frame, reply.frame};
  e.losses_before = call.losses_before;
  e.unsure = lists_unsure(context);
  const auto list_of = [&](ChunkList list) {
    const auto is = [list](const model::CallSegment& s) { return s.list == list; };
    const auto first = std::find_if(call.segments.begin(), call.segments.end(), is);
    const auto last = std::find_if_not(first, call.segments.end(), is);
    return std::span(first, last);
  };
  // Other numbers of segments: WR-01, RP-01.
  if (reply.write_counts == call.message.write_counts) {
    std::span<const model::CallSegment> offered = list_of(ChunkList::kWrite);
    model::for_each_write_chunk(reply, [&](std::uint32_t n, std::span<const wire::Segment> chunk) {
      check_chunk_written(offered.first(chunk.size()), chunk, e, context,
                          [&] { return counted_roundup(reply, call, n, context, scratch); });
      offered = offered.subspan(chunk.size());
    });
  }
  const std::span<const model::CallSegment> offered = list_of(ChunkList::kReply);
  if (offered.size() == reply.reply_segments.size()) {
    check_chunk_written(offered, reply.reply_segments, e, context, [] { return 0U; });
  }
}

void check_bytes_read(const model::Message& reply, const model::Call& call,
                      const CheckContext& context) {
  if (call.message.reads.empty() || reply.kind != model::Kind::kReply || !succeeded(reply.rpc)) {
    return;
  }
  const auto first = call.segments.begin();
  const auto end = first + static_cast<std::ptrdiff_t>(call.message.reads.size());
  // OPS-02 covers a Read that is still in flight.
  if (!context.history.reads[reply.sender].empty()) return;
  // A resent Call of the previous connection may be answered from the reply cache.
  const bool none = std::all_of(first, end, [](const auto& s) { return s.moved == 0; });
  if (none && context.all.past(context.connection, context.history) != nullptr) return;
  Evidence e = evidence(reply, context.connection, reply.sender);
  e.frames = {call.message.frame, reply.frame};
  e.losses_before = call.losses_before;
  e.topic = 1;
  e.unsure = lists_unsure(context);
  // Report only once for each Call, which may have very many chunks.
  for (auto it = first; it != end;) {
    const auto next = std::find_if(it, end, [&](const auto& s) { return s.chunk != it->chunk; });
    if (check_chunk_read(std::span(it, next), e, call, context)) return;
    it = next;
  }
}

void check_shared_memory(const model::Call& call, const CheckContext& context) {
  const auto it = std::find_if(
      call.segments.begin(), call.segments.end(),
      [](const model::CallSegment& s) { return s.shared == model::Shared::kWithOtherCall; });
  if (it == call.segments.end()) return;
  Evidence e = evidence(call.message, context.connection, call.message.sender);
  e.losses_before = call.losses_before;
  e.unsure = lists_unsure(context);
  context.findings.add(RuleId::kOps06, e, [&] {
    return fmt::format(
        "Call {:#010x} advertises memory of handle {:#010x} that another in-flight Call "
        "advertises, too",
        call.message.xid, it->target.handle);
  });
}

void remember_segments(const model::Call& call, const model::Message* answer,
                       const CheckContext& context) {
  if (answer == nullptr) return;
  ConnectionHistory& h = context.history;
  // For a Call with very many segments, the last ones are enough.
  const std::size_t n = call.segments.size();
  const std::size_t from = n > ConnectionHistory::kEnded ? n - ConnectionHistory::kEnded : 0;
  for (std::size_t i = from; i < n; ++i) {
    if (h.ended.size() < ConnectionHistory::kEnded && context.all.may_remember_segment()) {
      h.ended_next = static_cast<std::uint32_t>(h.ended.size());
      h.ended.emplace_back();
    }
    if (h.ended.empty()) return;
    EndedSegment& s = h.ended[h.ended_next];
    h.ended_next = static_cast<std::uint32_t>((h.ended_next + 1U) % h.ended.size());
    s.target = call.segments[i].target;
    s.list = call.segments[i].list;
    s.owner = call.message.caller;
    s.by_error = answer->kind != model::Kind::kReply;
    s.invalidated = answer->has_invalidate && answer->invalidated_handle == s.target.handle;
    s.xid = call.message.xid;
    s.end_frame = answer->frame;
    s.end_message = answer->id;
  }
}

void check_packets(const CheckContext& context) {
  for (std::size_t side = 0; side < 2; ++side) {
    const roce::SideCounters& n = context.connection.side[side].counters;
    packets_finding(side, n.illegal_sequence, 0,
                    "packets violate the order First, Middle, Last of a message", context);
    packets_finding(side, n.wrong_length, 1,
                    "RDMA Writes carry more or fewer bytes than the DMA length of their RETH",
                    context);
    packets_finding(side, n.wrong_response, 3,
                    "RDMA Read responses carry more or fewer bytes than the Read requested",
                    context);
    packets_finding(side, n.wrong_payload, 2,
                    "packets other than the last of a message do not fill the path MTU", context);
  }
}

}  // namespace rpcrdma::rules
