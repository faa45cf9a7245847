// Reports each type of trace event as fields. A table maps event types to functions.
#include <algorithm>
#include <array>
#include <utility>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/trace_reader/event_decoder.h>
#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::trace_reader {

namespace {

using decode::FieldId;
using trace::EventType;
using wire::Bytes;

// Reports the fields of one struct at their offsets.
template <typename Recorded>
class Fields {
 public:
  Fields(const Event& event, decode::Sink& sink)
      : recorded(trace::read_event<Recorded>(event.view).value_or(Recorded{})),
        event_(event),
        sink_(sink),
        payload_at_(sizeof(trace::EventHeader) + event.view.fixed.size()) {}

  const Recorded recorded;

  template <typename T>
  void number(FieldId id, const T& field, const char* name = nullptr) {
    sink_.number(id, offset_of(field), sizeof field, static_cast<std::uint64_t>(field), name);
  }
  // For fields in which 0 means unknown.
  template <typename T>
  void known(FieldId id, const T& field) {
    if (field != T{}) number(id, field);
  }
  template <typename T>
  void text(FieldId id, const T& field, std::string_view value) {
    sink_.text(id, offset_of(field), sizeof field, value);
  }
  template <typename T>
  void by(const T& side) {
    text(FieldId::kTraceBy, side, side == 0 ? "endpoint" : "peer");
  }
  void address(FieldId id, const std::array<std::uint8_t, 16>& field) {
    constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const bool ipv4 = std::equal(kMapped.begin(), kMapped.end(), field.begin());
    const std::size_t skip = ipv4 ? kMapped.size() : 0;
    sink_.bytes(id, offset_of(field) + skip, field.size() - skip, Bytes(field).subspan(skip));
  }
  // Reports a duration that is -1 where it is not known.
  void part(FieldId id, const std::int64_t& ns) {
    if (ns >= 0) number(id, ns);
  }
  // Reports a value that follows from several fields, or from the payload.
  void derived(FieldId id, std::uint64_t value) { sink_.number(id, 0, 0, value, nullptr); }
  [[nodiscard]] Bytes whole_payload() const { return event_.view.payload; }
  // Reports a duration computed from several fields.
  void duration(FieldId id, std::int64_t from, std::int64_t to) {
    if (from == 0 || to == 0) return;
    sink_.number(id, 0, 0, static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from),
                 nullptr);
  }

  // Wall-clock start of the connection: the time in the event's header is the endpoint's clock.
  void began() {
    if (event_.connection == nullptr) return;
    sink_.number(FieldId::kTraceConnectionSince, offsetof(trace::EventHeader, time),
                 sizeof(trace::EventHeader::time),
                 static_cast<std::uint64_t>(event_.connection->first_ns), nullptr);
  }

  // Length of the payload without the part at its end.
  [[nodiscard]] std::size_t payload_bytes_before(std::size_t end) const {
    const std::size_t all = event_.view.payload.size();
    return all - std::min(all, end);
  }
  // Reports `length` bytes of the payload from `at` on, as far as it has them.
  void payload_text(FieldId id, std::size_t at = 0, std::size_t length = SIZE_MAX) {
    const Bytes part = payload(at, length);
    if (part.empty()) return;
    sink_.text(id, payload_at_ + at, part.size(),
               {reinterpret_cast<const char*>(part.data()), part.size()});
  }
  void payload_bytes(FieldId id, std::size_t at = 0, std::size_t length = SIZE_MAX) {
    const Bytes part = payload(at, length);
    if (!part.empty()) sink_.bytes(id, payload_at_ + at, part.size(), part);
  }

 private:
  template <typename T>
  [[nodiscard]] std::size_t offset_of(const T& field) const {
    return sizeof(trace::EventHeader) +
           static_cast<std::size_t>(reinterpret_cast<const char*>(&field) -
                                    reinterpret_cast<const char*>(&recorded));
  }
  [[nodiscard]] Bytes payload(std::size_t at, std::size_t length) const {
    const Bytes all = event_.view.payload;
    at = std::min(at, all.size());
    return all.subspan(at, std::min(length, all.size() - at));
  }

  const Event& event_;
  decode::Sink& sink_;
  std::size_t payload_at_;
};

// "bytes, credit"
std::string unknown_names(std::uint16_t unknown) {
  constexpr std::array<std::pair<trace::MessageUnknown, const char*>, 5> kNames{{
      {trace::kBytesUnknown, "bytes"},
      {trace::kCreditUnknown, "credit"},
      {trace::kLengthUnknown, "length"},
      {trace::kChunksUnknown, "chunks"},
      {trace::kInvalidationUnknown, "invalidation"},
  }};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((unknown & bit) == 0) continue;
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

void fields(Fields<trace::Endpoint> f) {
  f.payload_text(FieldId::kTraceName, 0, f.recorded.name_bytes);
  f.payload_text(FieldId::kTraceRole, f.recorded.name_bytes);
  // A kernel is no process; the number only distinguishes its recordings.
  if (f.recorded.source == trace::EventSource::kEndpoint) {
    f.number(FieldId::kTraceProcess, f.recorded.process);
  }
  f.known(FieldId::kTraceSince, f.recorded.since);
  f.number(FieldId::kTraceFormat, f.recorded.format);
  if (f.recorded.source != trace::EventSource::kEndpoint) {
    f.text(FieldId::kTraceSource, f.recorded.source,
           roce::origin_name(origin_of(f.recorded.source)));
  }
  if (f.recorded.left_out != 0) {
    f.text(FieldId::kTraceExcluded, f.recorded.left_out, type_names(f.recorded.left_out));
  }
}

void fields(Fields<trace::Connection> f) {
  f.address(FieldId::kTraceLocal, f.recorded.local);
  f.known(FieldId::kTraceLocalQpn, f.recorded.local_qpn);
  f.address(FieldId::kTracePeer, f.recorded.peer);
  f.known(FieldId::kTracePeerQpn, f.recorded.peer_qpn);
  f.number(FieldId::kTracePort, f.recorded.port);
  f.number(FieldId::kTraceActive, f.recorded.active);
  f.known(FieldId::kVersion, f.recorded.version);
  if (f.recorded.private_data_unknown != 0) {
    f.known(FieldId::kTraceInlineSend, f.recorded.inline_send);
    f.known(FieldId::kTraceInlineReceive, f.recorded.inline_receive);
    f.known(FieldId::kTraceResponderResources, f.recorded.responder_resources);
    f.known(FieldId::kTraceInitiatorDepth, f.recorded.initiator_depth);
  } else {
    f.number(FieldId::kTraceInlineSend, f.recorded.inline_send);
    f.number(FieldId::kTraceInlineReceive, f.recorded.inline_receive);
    f.number(FieldId::kTraceResponderResources, f.recorded.responder_resources);
    f.number(FieldId::kTraceInitiatorDepth, f.recorded.initiator_depth);
  }
  f.number(FieldId::kTracePeerOperations, f.recorded.sees_peer_operations);
  f.number(FieldId::kTraceReplayed, f.recorded.replayed);
  if (f.recorded.replayed != 0) f.began();
  f.payload_bytes(FieldId::kTracePrivateSent, 0, f.recorded.sent_private_data);
  f.payload_bytes(FieldId::kTracePrivateReceived, f.recorded.sent_private_data);
  const bool sampled = f.recorded.not_sampled == 0;
  if (f.recorded.private_data_unknown != 0) {
    f.text(FieldId::kTraceUnknown, f.recorded.private_data_unknown,
           sampled ? "private data" : "private data, messages: not in the sample");
  } else if (!sampled) {
    f.text(FieldId::kTraceUnknown, f.recorded.not_sampled, "messages: not in the sample");
  }
}

void fields(Fields<trace::ConnectionEnd> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kTraceEstablished, f.recorded.established);
  f.number(FieldId::kTraceFailed, f.recorded.failed);
  f.known(FieldId::kTraceRejectReason, f.recorded.reject_reason);
  if (f.recorded.peer != decltype(f.recorded.peer){}) {
    f.address(FieldId::kTracePeer, f.recorded.peer);
    f.number(FieldId::kTracePort, f.recorded.port);
    f.number(FieldId::kTraceActive, f.recorded.active);
  }
  const std::size_t reason = f.payload_bytes_before(f.recorded.private_data);
  f.payload_text(FieldId::kTraceReason, 0, reason);
  f.payload_bytes(
      f.recorded.side == 0 ? FieldId::kTracePrivateSent : FieldId::kTracePrivateReceived, reason);
}

void fields(Fields<trace::Message> f) {
  f.by(f.recorded.side);
  if ((f.recorded.unknown & trace::kLengthUnknown) == 0) {
    f.number(FieldId::kSendLength, f.recorded.length);
  }
  if (const std::string unknown = unknown_names(f.recorded.unknown); !unknown.empty()) {
    f.text(FieldId::kTraceUnknown, f.recorded.unknown, unknown);
  }
  if (f.recorded.has_invalidate != 0) f.number(FieldId::kInvalidatedHandle, f.recorded.invalidate);
}

template <typename Recorded>
void transfer(Fields<Recorded>& f) {
  f.by(f.recorded.side);
  f.text(FieldId::kOpKind, f.recorded.kind,
         f.recorded.kind == trace::Transfer::kRead ? "RDMA READ" : "RDMA WRITE");
}

void fields(Fields<trace::Operation> f) {
  transfer(f);
  f.number(FieldId::kOpHandle, f.recorded.handle);
  f.number(FieldId::kOpOffset, f.recorded.offset);
  f.number(FieldId::kOpLength, f.recorded.length);
  f.known(FieldId::kXid, f.recorded.xid);
  f.number(FieldId::kTraceId, f.recorded.id);
}

void fields(Fields<trace::OperationEnd> f) {
  transfer(f);
  f.number(FieldId::kTraceStatus, f.recorded.status);
  f.number(FieldId::kOpBytes, f.recorded.length);
  f.number(FieldId::kTraceId, f.recorded.id);
}

void fields(Fields<trace::Advertise> f) {
  f.number(FieldId::kSegmentHandle, f.recorded.handle);
  f.number(FieldId::kSegmentLength, f.recorded.length);
  f.number(FieldId::kSegmentOffset, f.recorded.offset);
  f.known(FieldId::kXid, f.recorded.xid);
  f.number(FieldId::kTraceAccess, f.recorded.access);
}

void fields(Fields<trace::Invalidate> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kSegmentHandle, f.recorded.handle);
}

void fields(Fields<trace::Receives> f) {
  f.number(FieldId::kTracePosted, f.recorded.posted);
  f.number(FieldId::kTracePostedTotal, f.recorded.total);
}

void fields(Fields<trace::Credits> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kCreditRequested, f.recorded.requested);
  if (trace::has_limit_as_grant(f.recorded)) {
    f.number(FieldId::kTraceCreditLimit, f.recorded.granted);
  } else {
    f.number(FieldId::kCreditGranted, f.recorded.granted);
    f.known(FieldId::kTraceCreditLimit, f.recorded.limit);
  }
  f.number(FieldId::kCreditInUse, f.recorded.in_use);
  f.number(FieldId::kTraceWaiting, f.recorded.waiting);
  f.known(FieldId::kTraceInUseMax, f.recorded.in_use_most);
}

void fields(Fields<trace::CreditWait> f) {
  f.number(FieldId::kXid, f.recorded.xid);
  f.text(FieldId::kTraceWait, f.recorded.begun, f.recorded.begun != 0 ? "begins" : "ends");
}

// Of an event with these three.
template <typename Recorded>
void procedure_fields(Fields<Recorded>& f) {
  f.number(FieldId::kRpcProgram, f.recorded.program,
           decode::program_name(f.recorded.program, f.recorded.version, f.recorded.procedure));
  f.number(FieldId::kRpcProgramVersion, f.recorded.version);
  f.number(FieldId::kRpcProcedure, f.recorded.procedure,
           decode::procedure_name(f.recorded.program, f.recorded.version, f.recorded.procedure));
}

void fields(Fields<trace::Call> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kXid, f.recorded.xid);
  if (f.recorded.program != 0) procedure_fields(f);
}

void fields(Fields<trace::CallEnd> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kXid, f.recorded.xid);
  if (f.recorded.side == 0) f.number(FieldId::kTraceCallStatus, f.recorded.status);
  f.known(FieldId::kTraceAttempts, f.recorded.attempts);
  f.duration(FieldId::kTraceSending, f.recorded.called, f.recorded.sent);
  f.part(FieldId::kTraceSlotWait, f.recorded.slot_wait);
  f.part(FieldId::kTraceCreditWait, f.recorded.credit_wait);
  f.part(FieldId::kTraceMarshal, f.recorded.marshal);
  f.part(FieldId::kTracePost, f.recorded.post);
  f.duration(FieldId::kTraceResponse, f.recorded.sent != 0 ? f.recorded.sent : f.recorded.called,
             f.recorded.replied);
  f.duration(FieldId::kTraceCompletion, f.recorded.replied, f.recorded.ended);
  f.duration(FieldId::kTraceTotal, f.recorded.called, f.recorded.ended);
}

void fields(Fields<trace::Error> f) {
  f.by(f.recorded.side);
  f.known(FieldId::kXid, f.recorded.xid);
  f.payload_text(FieldId::kTraceReason);
}

void fields(Fields<trace::Fabric> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kTraceFabric, f.recorded.kind);
  if (f.recorded.kind == trace::FabricKind::kNak) f.number(FieldId::kTraceNak, f.recorded.code);
  f.number(FieldId::kTracePsn, f.recorded.psn);
  f.known(FieldId::kTraceCount, f.recorded.count);
}

void fields(Fields<trace::Fault> f) {
  f.text(FieldId::kTraceFaultDirection, f.recorded.outgoing,
         f.recorded.outgoing != 0 ? "outgoing" : "incoming");
  f.number(FieldId::kTraceFaultAction, f.recorded.action);
  f.number(FieldId::kTraceCount, f.recorded.packets);
  f.payload_text(FieldId::kTraceFaultRule);
}

void fields(Fields<trace::Duplicate> f) {
  f.number(FieldId::kXid, f.recorded.xid);
  procedure_fields(f);
  f.number(FieldId::kTraceDuplicate, static_cast<std::uint8_t>(f.recorded.fate));
}

void fields(Fields<trace::Loss> f) {
  f.number(FieldId::kTraceEmitted, f.recorded.emitted);
  f.number(FieldId::kTraceLost, f.recorded.lost);
}

void fields(Fields<trace::Registration> f) {
  f.text(FieldId::kTraceRegistration, f.recorded.begun,
         f.recorded.begun != 0 ? "registered" : "deregistered");
  f.number(FieldId::kTraceMemoryAddress, f.recorded.address);
  f.number(FieldId::kTraceMemoryLength, f.recorded.length);
}

void fields(Fields<trace::ProcedureSums> f) {
  f.by(f.recorded.side);
  f.number(FieldId::kRpcProgram, f.recorded.program,
           decode::program_name(f.recorded.program, f.recorded.version, f.recorded.procedure));
  f.number(FieldId::kRpcProgramVersion, f.recorded.version);
  f.number(FieldId::kRpcProcedure, f.recorded.procedure,
           decode::procedure_name(f.recorded.program, f.recorded.version, f.recorded.procedure));
  f.number(FieldId::kTraceSumCalls, f.recorded.calls);
  f.number(FieldId::kTraceSumReplies, f.recorded.replies);
  f.number(FieldId::kTraceSumErrors, f.recorded.errors);
  f.number(FieldId::kTraceSumCallBytes, f.recorded.call_bytes);
  f.number(FieldId::kTraceSumReplyBytes, f.recorded.reply_bytes);
  f.number(FieldId::kTraceSumReadChunks, f.recorded.read_chunk_bytes);
  f.number(FieldId::kTraceSumWriteChunks, f.recorded.write_chunk_bytes);
  if (f.recorded.replies == 0) return;
  f.derived(FieldId::kTraceSumLatencyMean, f.recorded.latency_ns / f.recorded.replies);
  const SumLatencies latencies = SumLatencies::read(f.whole_payload());
  if (const auto p50 = latencies.quantile(0.5)) f.derived(FieldId::kTraceSumLatencyP50, *p50);
  if (const auto p99 = latencies.quantile(0.99)) f.derived(FieldId::kTraceSumLatencyP99, *p99);
  f.number(FieldId::kTraceSumLatencyMax, f.recorded.max_latency_ns);
}

void fields(Fields<trace::ConnectionSums> f) {
  f.number(FieldId::kTraceSumSends, f.recorded.sends);
  f.number(FieldId::kTraceSumReceives, f.recorded.receives);
  f.number(FieldId::kTraceSumSendBytes, f.recorded.send_bytes);
  f.number(FieldId::kTraceSumReceiveBytes, f.recorded.receive_bytes);
  f.number(FieldId::kTraceSumReadBytes, f.recorded.read_bytes);
  f.number(FieldId::kTraceSumWrittenBytes, f.recorded.written_bytes);
  f.number(FieldId::kTraceSumCreditWaits, f.recorded.credit_waits);
  f.number(FieldId::kTraceSumCreditWait, f.recorded.credit_wait_ns);
  f.number(FieldId::kTraceSumSendQueueFull, f.recorded.send_queue_full);
  f.number(FieldId::kTraceSumResent, f.recorded.resent_calls);
  f.number(FieldId::kTraceSumFlushed, f.recorded.flushed);
  f.number(FieldId::kTraceSumInvalidHeaders, f.recorded.invalid_headers);
}

template <typename Recorded>
void report(const Event& event, decode::Sink& sink) {
  fields(Fields<Recorded>(event, sink));
}

using Report = void (*)(const Event&, decode::Sink&);
struct Type {
  Report report = nullptr;
  bool notable = false;
};

// Indexed by number; the first is unused.
constexpr std::array<Type, trace::kEventTypes + 1> kTypes{{
    {},
    {report<trace::Endpoint>, true},
    {report<trace::Connection>, true},
    {report<trace::ConnectionEnd>, true},
    {report<trace::Message>, false},
    {report<trace::Operation>, false},
    {report<trace::OperationEnd>, false},
    {report<trace::Advertise>, false},
    {report<trace::Invalidate>, false},
    {report<trace::Receives>, false},
    {report<trace::Credits>, false},
    {report<trace::CreditWait>, false},
    {report<trace::Call>, false},
    {report<trace::CallEnd>, false},
    {report<trace::Error>, true},
    {report<trace::Fabric>, true},
    {report<trace::Fault>, true},
    {report<trace::Loss>, false},
    {report<trace::Registration>, true},
    {report<trace::ProcedureSums>, false},
    {report<trace::ConnectionSums>, false},
    {report<trace::Duplicate>, true},
}};

const Type& type_of(EventType type) {
  const auto n = static_cast<std::size_t>(type);
  return kTypes[n < kTypes.size() ? n : 0];
}

}  // namespace

void decode_event(const Event& event, decode::Sink& sink) {
  const trace::EventHeader& h = event.view.header;
  sink.text(FieldId::kTraceEvent, offsetof(trace::EventHeader, type), sizeof h.type,
            trace::event_type_name(event.type()));
  if (h.connection != 0) {
    sink.number(FieldId::kTraceConnection, offsetof(trace::EventHeader, connection),
                sizeof h.connection, h.connection, nullptr);
  }
  if (h.ring != 0) {
    sink.number(FieldId::kTraceRing, offsetof(trace::EventHeader, ring), sizeof h.ring, h.ring,
                nullptr);
  }
  if (const Report report = type_of(event.type()).report) report(event, sink);
}

std::string type_names(std::uint64_t types) {
  std::string names;
  for (std::uint16_t n = 1; n <= trace::kEventTypes; ++n) {
    const auto type = static_cast<EventType>(n);
    if ((types & trace::type_bit(type)) == 0) continue;
    if (!names.empty()) names += ", ";
    names += trace::event_type_name(type);
  }
  return names;
}

std::optional<std::uint32_t> xid_of(const Event& event) {
  const auto of = [&event](auto recorded) -> std::optional<std::uint32_t> {
    const auto read = trace::read_event<decltype(recorded)>(event.view);
    if (!read || read->xid == 0) return std::nullopt;
    return read->xid;
  };
  switch (event.type()) {
    case EventType::kOperation:
      return of(trace::Operation{});
    case EventType::kAdvertise:
      return of(trace::Advertise{});
    case EventType::kCreditWait:
      return of(trace::CreditWait{});
    case EventType::kCall:
      return of(trace::Call{});
    case EventType::kCallEnd:
      return of(trace::CallEnd{});
    case EventType::kError:
      return of(trace::Error{});
    case EventType::kDuplicate:
      return of(trace::Duplicate{});
    default:
      return std::nullopt;
  }
}

bool is_notable(const Event& event) {
  const auto loss = trace::read_event<trace::Loss>(event.view);
  return type_of(event.type()).notable || (loss && loss->lost != 0);
}

}  // namespace rpcrdma::trace_reader
