#include <algorithm>

#include <rpcrdma/model/call.h>
#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kCall:
      return "call";
    case Kind::kReply:
      return "reply";
    case Kind::kError:
      return "error";
    case Kind::kDone:
      return "done";
    case Kind::kOption:
      return "option";
    case Kind::kMalformed:
      return "malformed";
    case Kind::kControl:
      return "control";
  }
  return "unknown";
}

const char* chunk_list_name(ChunkList list) {
  switch (list) {
    case ChunkList::kRead:
    case ChunkList::kReplyRead:
      return "read";
    case ChunkList::kWrite:
      return "write";
    case ChunkList::kReply:
      return "reply";
  }
  return "unknown";
}

const char* type_name(const Message& m) {
  return later_dialect(m) ? wire::later_type_name(m.dialect, m.proc)
                          : wire::proc_name(m.version, m.proc);
}

const char* error_name(const Message& m) {
  const auto code = static_cast<std::uint32_t>(m.error);
  return later_dialect(m) ? wire::later_error_name(m.dialect, code)
                          : wire::rdma_err_name(m.version, code);
}

bool is_external(const Message& m) {
  if (m.dialect != wire::Dialect::kIetf03) {
    return m.proc == static_cast<std::uint32_t>(wire::Proc::kNomsg);
  }
  return m.proc == wire::kCallExternal || m.proc == wire::kReplyExternal;
}

bool is_option(const Message& m) {
  return m.kind == Kind::kOption || (m.version == 2 && !later_dialect(m) && !m.malformed &&
                                     m.proc == static_cast<std::uint32_t>(wire::Proc::kOptional));
}

std::uint32_t padded_from(const Message& m) {
  if (m.version != 1 || m.proc != static_cast<std::uint32_t>(wire::Proc::kMsgp) ||
      m.padding_found) {
    return decode::kNotPadded;
  }
  return decode::padded_from(m.align, m.thresh, m.wire_length - m.header_length);
}

std::uint32_t first_position(const Message& m) {
  std::uint32_t first = UINT32_MAX;
  for (const wire::ReadSegment& r : m.reads) {
    if (r.position != 0) first = std::min(first, r.position);
  }
  return first;
}

void Message::reset() {
  reads.clear();
  write_segments.clear();
  write_counts.clear();
  reply_segments.clear();
  bytes.clear();
  encoded.clear();
  payload = {};
  rpc_xid.reset();
  has_reply_chunk = false;
  malformed.reset();
  error = wire::RdmaErr::kVers;
  vers_low = vers_high = 0;
  processed = false;
  segment_index = length_needed = 0;
  inv_handle = opttype = header_length = 0;
  align = thresh = 0;
  padding_found = false;
  padding.clear();
  last_part = false;
  direction = wire::MsgType::kCall;
  xid = version = credit = proc = 0;
  dialect = wire::Dialect::kDraft02;
  rpc = RpcInfo{};
  credits = Credits{};
  match_frame = 0;
  latency_ns = acknowledges_after_ns = -1;
}

void Call::reset() {
  message.reset();
  chunks.clear();
  segments.clear();
  operations.clear();
  operations_total = 0;
  first_op_ns = last_op_ns = first_reply_read_ns = last_reply_read_ns = acknowledged_after_ns = -1;
  reply.reset();
  own_segments = unread_segments = 0;
  losses_before = 0;
  digest = 0;
  results_asked.reset();
  if (has_file) file.clear();
  identified = doubled = has_file = false;
  ending = Ending::kClosed;
  counted = 0;
}

std::size_t Call::footprint() const {
  const auto list = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  // Entries in the tables of Calls, including the free space between them.
  constexpr std::size_t kEntry = 64;
  const auto indexed = static_cast<std::size_t>(std::count_if(
      segments.begin(), segments.end(), [](const CallSegment& s) { return s.indexed; }));
  const auto lists = [&](const Message& m) {
    return list(m.reads) + list(m.write_segments) + list(m.write_counts) + list(m.reply_segments) +
           list(m.bytes) + list(m.encoded);
  };
  return sizeof(Call) + kEntry * (1 + segments.size() + indexed) + list(chunks) + list(segments) +
         list(operations) + lists(message) + file.footprint() +
         (reply != nullptr ? sizeof(Message) + lists(*reply) : 0);
}

}  // namespace rpcrdma::model
