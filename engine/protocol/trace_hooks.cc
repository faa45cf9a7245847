// Builds the trace events of a channel and its roles.
#include "trace_hooks.h"

#include "work_id.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::protocol {

using fabric::Status;
using fabric::Time;
using trace::ConnectionTracer;

namespace {

// Buffer for a payload that is copied from several slices.
using Copy = std::array<std::uint8_t, std::max(trace::kMessageTail, trace::kOperationTail)>;

// The first bytes of the slices; in `copy` unless the first slice holds them all.
wire::Bytes first_bytes(std::span<const fabric::Slice> slices, std::size_t limit, Copy& copy) {
  if (slices.empty()) return {};
  if (slices.size() == 1 || slices[0].length >= limit) {
    return {slices[0].data, std::min<std::size_t>(slices[0].length, limit)};
  }
  std::size_t at = 0;
  for (const fabric::Slice& s : slices) {
    const std::size_t bytes = std::min<std::size_t>(s.length, limit - at);
    std::memcpy(copy.data() + at, s.data, bytes);
    at += bytes;
  }
  return {copy.data(), at};
}

// Returns the payload of a Message event, at least the whole header. `front`: the contiguous front
// of the message.
wire::Bytes announced(wire::Bytes front) {
  if (front.size() <= trace::kMessageTail) return front;
  const auto header = wire::decode_header(front);
  const std::size_t bytes = header ? std::clamp(header->length + trace::kBehindHeader,
                                                trace::kMessageTail, trace::kLongestMessageTail)
                                   : trace::kLongestMessageTail;
  return front.first(std::min(front.size(), bytes));
}

std::uint32_t length_of(std::span<const fabric::Slice> slices) {
  std::uint32_t sum = 0;
  for (const fabric::Slice& s : slices) sum += s.length;
  return sum;
}

[[gnu::always_inline]] inline void trace_operation(trace::Tracer::Row& row, const WorkRequest& work,
                                                   Copy& copy) {
  const std::span slices = std::span(work.slices).first(work.slice_count);
  const bool reads = work.request.operation == fabric::Operation::kRead;
  trace::Operation event;
  event.kind = reads ? trace::Transfer::kRead : trace::Transfer::kWrite;
  event.side = trace::kHere;
  event.handle = work.request.remote_handle;
  event.offset = work.request.remote_offset;
  event.length = length_of(slices);
  event.xid = work.xid;
  event.id = work.request.id;
  row.emit(event, reads ? wire::Bytes() : first_bytes(slices, trace::kOperationTail, copy));
}

[[gnu::always_inline]] inline void trace_sent(trace::Tracer::Row& row, const WorkRequest& work,
                                              Copy& copy) {
  const std::span slices = std::span(work.slices).first(work.slice_count);
  trace::Message event;
  event.side = trace::kHere;
  event.has_invalidate = work.request.operation == fabric::Operation::kSendInvalidate ? 1 : 0;
  event.invalidate = work.request.invalidate;
  if (slices.size() == 1) {
    event.length = slices[0].length;
    row.emit(event, announced({slices[0].data, slices[0].length}));
  } else {
    event.length = length_of(slices);
    row.emit(event, first_bytes(slices, trace::kMessageTail, copy));
  }
}

}  // namespace

void trace_received(const ConnectionTracer& trace, const fabric::Completion& completion,
                    wire::Bytes message, Time now) {
  trace::Message event;
  event.side = trace::kPeer;
  event.has_invalidate = completion.has_invalidated ? 1 : 0;
  event.length = completion.bytes;
  event.invalidate = completion.invalidated;
  trace.emit(now, event, announced(message));
}

void trace_receives(const ConnectionTracer& trace, std::uint32_t posted, std::uint32_t total,
                    Time now) {
  trace.emit(now, trace::Receives{posted, total});
}

void trace_posted(const ConnectionTracer& trace, std::span<const WorkRequest> work, Time now) {
  Copy copy;
  trace::Tracer::Row row = trace.row(now);
  for (const WorkRequest& w : work) {
    const bool one_sided = w.request.operation == fabric::Operation::kRead ||
                           w.request.operation == fabric::Operation::kWrite;
    one_sided ? trace_operation(row, w, copy) : trace_sent(row, w, copy);
  }
}

void trace_reads_ended(const ConnectionTracer& trace, const CheckedReads& message,
                       const PulledChunks& pulled, std::uint32_t most, WorkId id, Time now) {
  id.part = 0;
  std::uint32_t number = 0;
  trace::Tracer::Row row = trace.row(now);
  for (const ReadChunk& chunk : message.reads) {
    wire::Bytes content = pulled.content(message, number++);
    for (const wire::Segment& segment : message.of(chunk.segments)) {
      for (std::uint32_t left = segment.length; left != 0;) {
        trace::OperationEnd event;
        event.kind = trace::Transfer::kRead;
        event.side = trace::kHere;
        event.status = static_cast<std::uint8_t>(Status::kSuccess);
        event.length = std::min(left, most);
        event.id = id.encode();
        id.part = static_cast<std::uint16_t>((id.part + 1U) % WorkId::kParts);
        row.emit(event, content.first(std::min<std::size_t>(event.length, trace::kOperationTail)));
        content = content.subspan(event.length);
        left -= event.length;
      }
    }
  }
}

void trace_failed(const ConnectionTracer& trace, const fabric::Completion& completion, Time now) {
  const WorkKind kind = WorkId::decode(completion.id).kind;
  const bool is_read = kind == WorkKind::kRead || kind == WorkKind::kReplyRead;
  if (!is_read && kind != WorkKind::kWrite && kind != WorkKind::kProbe) return;
  trace::OperationEnd event;
  event.kind = is_read ? trace::Transfer::kRead : trace::Transfer::kWrite;
  event.side = trace::kHere;
  event.status = static_cast<std::uint8_t>(completion.status);
  event.id = completion.id;
  trace.emit(now, event);
}

std::uint8_t side_of_failure(Status status) {
  switch (status) {
    case Status::kSuccess:
    case Status::kLocalProtection:
    case Status::kLocalOperation:
    case Status::kFlushed:
    case Status::kRemoteInvalid:
      return trace::kHere;
    case Status::kLocalLength:   // of a Receive: the peer's message did not fit
    case Status::kRemoteAccess:  // through a handle that the peer advertised
    case Status::kRemoteOperation:
    case Status::kBadResponse:
    case Status::kRetriesExceeded:
    case Status::kRnrRetriesExceeded:
      break;
  }
  return trace::kPeer;
}

void trace_advertised(const ConnectionTracer& trace, const wire::Segment& segment,
                      fabric::Access access, std::uint32_t xid, Time now) {
  trace::Advertise event;
  event.handle = segment.handle;
  event.length = segment.length;
  event.offset = segment.offset;
  event.xid = xid;
  event.access = static_cast<std::uint8_t>(access);
  trace.emit(now, event);
}

void trace_invalidated(const ConnectionTracer& trace, std::uint32_t handle, std::uint8_t side,
                       Time now) {
  trace.emit(now, trace::Invalidate{handle, side, {}});
}

void trace_credits(const ConnectionTracer& trace, const trace::Credits& credits, Time now) {
  trace.emit(now, credits);
}

void trace_credit_wait(const ConnectionTracer& trace, std::uint32_t xid, bool begun, Time now) {
  trace.emit(now, trace::CreditWait{xid, static_cast<std::uint8_t>(begun), {}});
}

void trace_call(const ConnectionTracer& trace, std::uint32_t xid, std::uint8_t side,
                wire::Bytes stream, Time now) {
  trace::Call event;
  event.xid = xid;
  event.side = side;
  wire::XdrReader r(stream);
  r.skip(12);  // XID, msg_type, rpcvers
  const std::uint32_t program = r.u32();
  const std::uint32_t version = r.u32();
  const std::uint32_t procedure = r.u32();
  if (r.ok()) {
    event.program = program;
    event.version = version;
    event.procedure = procedure;
  }
  trace.emit(now, event);
}

void trace_call_end(const ConnectionTracer& trace, const CallOutcome& outcome) {
  trace::CallEnd event;
  event.xid = outcome.xid;
  event.side = trace::kHere;
  event.status = static_cast<std::uint8_t>(outcome.status);
  event.attempts =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(outcome.attempts, UINT16_MAX));
  event.called = outcome.times.called;
  event.sent = outcome.times.sent;
  event.replied = outcome.times.replied;
  event.ended = outcome.times.ended;
  trace.emit(event.ended, event);
}

void trace_call_end(const ConnectionTracer& trace, const ServedCall& served, Time now) {
  trace::CallEnd event;
  event.xid = served.call.xid;
  event.side = trace::kPeer;
  event.called = served.received_at;
  event.sent = served.pulled_at;
  event.replied = served.replied_at;
  event.ended = now;
  trace.emit(now, event);
}

void trace_error(const ConnectionTracer& trace, std::uint8_t side, std::uint32_t xid,
                 std::string_view reason, Time now) {
  trace.emit(now, trace::Error{xid, side, {}}, base::as_bytes(reason));
}

void trace_refused(const ConnectionTracer& trace, std::uint8_t side, std::uint32_t version,
                   wire::RdmaErr error, std::uint32_t xid, std::string_view rule,
                   std::string_view reason, Time now) {
  constexpr std::size_t kLongest = 256;
  std::array<char, kLongest> text;
  const char* const name = wire::rdma_err_name(version, static_cast<std::uint32_t>(error));
  const auto written =
      rule.empty() ? fmt::format_to_n(text.data(), kLongest, "{}: {}", name, reason)
                   : fmt::format_to_n(text.data(), kLongest, "{}: {} ({})", name, reason, rule);
  trace_error(trace, side, xid, {text.data(), std::min(written.size, kLongest)}, now);
}

}  // namespace rpcrdma::protocol
