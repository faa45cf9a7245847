#include <algorithm>
#include <array>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/trace_reader/event_decoder.h>

namespace rpcrdma::trace_reader {

namespace {

using decode::FieldId;
using trace::EventType;
using wire::Bytes;

// Fields of one struct, each where it stands.
template <typename Told>
class Fields {
 public:
  Fields(const Event& event, decode::Sink& sink)
      : told(trace::read_event<Told>(event.view).value_or(Told{})),
        event_(event),
        sink_(sink),
        tail_at_(sizeof(trace::EventHeader) + event.view.fixed.size()) {}

  const Told told;

  template <typename T>
  void number(FieldId id, const T& field, const char* name = nullptr) {
    sink_.number(id, offset_of(field), sizeof field, static_cast<std::uint64_t>(field), name);
  }
  // Where 0 says that there is none.
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
  // What is worked out of several.
  void duration(FieldId id, std::int64_t from, std::int64_t to) {
    if (from == 0 || to == 0) return;
    sink_.number(id, 0, 0, static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from),
                 nullptr);
  }

  // Of the connection, by the wall clock: its own time in the header is the endpoint's.
  void began() {
    if (event_.connection == nullptr) return;
    sink_.number(FieldId::kTraceConnectionBegan, offsetof(trace::EventHeader, time),
                 sizeof(trace::EventHeader::time),
                 static_cast<std::uint64_t>(event_.connection->first_ns), nullptr);
  }

  // Of the tail, without what stands at its end.
  [[nodiscard]] std::size_t tail_bytes_before(std::size_t end) const {
    const std::size_t all = event_.view.tail.size();
    return all - std::min(all, end);
  }
  // `length` bytes of the tail from `at` on, as far as it has them.
  void tail_text(FieldId id, std::size_t at = 0, std::size_t length = SIZE_MAX) {
    const Bytes part = tail(at, length);
    if (part.empty()) return;
    sink_.text(id, tail_at_ + at, part.size(),
               {reinterpret_cast<const char*>(part.data()), part.size()});
  }
  void tail_bytes(FieldId id, std::size_t at = 0, std::size_t length = SIZE_MAX) {
    const Bytes part = tail(at, length);
    if (!part.empty()) sink_.bytes(id, tail_at_ + at, part.size(), part);
  }

 private:
  template <typename T>
  [[nodiscard]] std::size_t offset_of(const T& field) const {
    return sizeof(trace::EventHeader) +
           static_cast<std::size_t>(reinterpret_cast<const char*>(&field) -
                                    reinterpret_cast<const char*>(&told));
  }
  [[nodiscard]] Bytes tail(std::size_t at, std::size_t length) const {
    const Bytes all = event_.view.tail;
    at = std::min(at, all.size());
    return all.subspan(at, std::min(length, all.size() - at));
  }

  const Event& event_;
  decode::Sink& sink_;
  std::size_t tail_at_;
};

void fields(Fields<trace::Endpoint> f) {
  f.tail_text(FieldId::kTraceName, 0, f.told.name_bytes);
  f.tail_text(FieldId::kTraceRole, f.told.name_bytes);
  f.number(FieldId::kTraceProcess, f.told.process);
  f.known(FieldId::kTraceSince, f.told.since);
  f.number(FieldId::kTraceFormat, f.told.format);
  if (f.told.left_out != 0) {
    f.text(FieldId::kTraceLeftOut, f.told.left_out, type_names(f.told.left_out));
  }
}

void fields(Fields<trace::Connection> f) {
  f.address(FieldId::kTraceLocal, f.told.local);
  f.known(FieldId::kTraceLocalQpn, f.told.local_qpn);
  f.address(FieldId::kTracePeer, f.told.peer);
  f.known(FieldId::kTracePeerQpn, f.told.peer_qpn);
  f.number(FieldId::kTracePort, f.told.port);
  f.number(FieldId::kTraceActive, f.told.active);
  f.known(FieldId::kVersion, f.told.version);
  f.number(FieldId::kTraceInlineSend, f.told.inline_send);
  f.number(FieldId::kTraceInlineReceive, f.told.inline_receive);
  f.number(FieldId::kTraceResponderResources, f.told.responder_resources);
  f.number(FieldId::kTraceInitiatorDepth, f.told.initiator_depth);
  f.number(FieldId::kTraceSeesPeer, f.told.sees_peer_operations);
  f.number(FieldId::kTraceToldAnew, f.told.told_anew);
  if (f.told.told_anew != 0) f.began();
  f.tail_bytes(FieldId::kTracePrivateSent, 0, f.told.sent_private_data);
  f.tail_bytes(FieldId::kTracePrivateReceived, f.told.sent_private_data);
}

void fields(Fields<trace::ConnectionEnd> f) {
  f.by(f.told.side);
  f.number(FieldId::kTraceEstablished, f.told.established);
  f.number(FieldId::kTraceFailed, f.told.failed);
  f.known(FieldId::kTraceRejectReason, f.told.reject_reason);
  if (f.told.peer != decltype(f.told.peer){}) {
    f.address(FieldId::kTracePeer, f.told.peer);
    f.number(FieldId::kTracePort, f.told.port);
    f.number(FieldId::kTraceActive, f.told.active);
  }
  const std::size_t reason = f.tail_bytes_before(f.told.private_data);
  f.tail_text(FieldId::kTraceReason, 0, reason);
  f.tail_bytes(f.told.side == 0 ? FieldId::kTracePrivateSent : FieldId::kTracePrivateReceived,
               reason);
}

void fields(Fields<trace::Message> f) {
  f.by(f.told.side);
  f.number(FieldId::kSendLength, f.told.length);
  if (f.told.has_invalidate != 0) f.number(FieldId::kInvalidatedHandle, f.told.invalidate);
}

template <typename Told>
void transfer(Fields<Told>& f) {
  f.by(f.told.side);
  f.text(FieldId::kOpKind, f.told.kind,
         f.told.kind == trace::Transfer::kRead ? "RDMA READ" : "RDMA WRITE");
}

void fields(Fields<trace::Operation> f) {
  transfer(f);
  f.number(FieldId::kOpHandle, f.told.handle);
  f.number(FieldId::kOpOffset, f.told.offset);
  f.number(FieldId::kOpLength, f.told.length);
  f.known(FieldId::kXid, f.told.xid);
  f.number(FieldId::kTraceId, f.told.id);
}

void fields(Fields<trace::OperationEnd> f) {
  transfer(f);
  f.number(FieldId::kTraceStatus, f.told.status);
  f.number(FieldId::kOpBytes, f.told.length);
  f.number(FieldId::kTraceId, f.told.id);
}

void fields(Fields<trace::Expose> f) {
  f.number(FieldId::kSegmentHandle, f.told.handle);
  f.number(FieldId::kSegmentLength, f.told.length);
  f.number(FieldId::kSegmentOffset, f.told.offset);
  f.known(FieldId::kXid, f.told.xid);
  f.number(FieldId::kTraceAccess, f.told.access);
}

void fields(Fields<trace::Withdraw> f) {
  f.by(f.told.side);
  f.number(FieldId::kSegmentHandle, f.told.handle);
}

void fields(Fields<trace::Receives> f) {
  f.number(FieldId::kTracePosted, f.told.posted);
  f.number(FieldId::kTracePostedTotal, f.told.total);
}

void fields(Fields<trace::Credits> f) {
  f.by(f.told.side);
  f.number(FieldId::kCreditRequested, f.told.requested);
  if (trace::has_limit_as_grant(f.told)) {
    f.number(FieldId::kTraceCreditLimit, f.told.granted);
  } else {
    f.number(FieldId::kCreditGranted, f.told.granted);
    f.known(FieldId::kTraceCreditLimit, f.told.limit);
  }
  f.number(FieldId::kCreditInUse, f.told.in_use);
  f.number(FieldId::kTraceWaiting, f.told.waiting);
  f.known(FieldId::kTraceInUseMost, f.told.in_use_most);
}

void fields(Fields<trace::CreditWait> f) {
  f.number(FieldId::kXid, f.told.xid);
  f.text(FieldId::kTraceWait, f.told.begun, f.told.begun != 0 ? "begins" : "ends");
}

void fields(Fields<trace::Call> f) {
  f.by(f.told.side);
  f.number(FieldId::kXid, f.told.xid);
  if (f.told.program == 0) return;
  f.number(FieldId::kRpcProgram, f.told.program,
           decode::program_name(f.told.program, f.told.version, f.told.procedure));
  f.number(FieldId::kRpcProgramVersion, f.told.version);
  f.number(FieldId::kRpcProcedure, f.told.procedure,
           decode::procedure_name(f.told.program, f.told.version, f.told.procedure));
}

void fields(Fields<trace::CallEnd> f) {
  f.by(f.told.side);
  f.number(FieldId::kXid, f.told.xid);
  if (f.told.side == 0) f.number(FieldId::kTraceCallStatus, f.told.status);
  f.known(FieldId::kTraceAttempts, f.told.attempts);
  f.duration(FieldId::kTraceSending, f.told.called, f.told.sent);
  f.duration(FieldId::kTraceTurn, f.told.sent != 0 ? f.told.sent : f.told.called, f.told.replied);
  f.duration(FieldId::kTraceCompletion, f.told.replied, f.told.ended);
  f.duration(FieldId::kTraceTotal, f.told.called, f.told.ended);
}

void fields(Fields<trace::Error> f) {
  f.by(f.told.side);
  f.known(FieldId::kXid, f.told.xid);
  f.tail_text(FieldId::kTraceReason);
}

void fields(Fields<trace::Fabric> f) {
  f.by(f.told.side);
  f.number(FieldId::kTraceFabric, f.told.kind);
  if (f.told.kind == trace::FabricKind::kNak) f.number(FieldId::kTraceNak, f.told.code);
  f.number(FieldId::kTracePsn, f.told.psn);
  f.known(FieldId::kTraceCount, f.told.count);
}

void fields(Fields<trace::Fault> f) {
  f.text(FieldId::kTraceFaultDirection, f.told.outgoing,
         f.told.outgoing != 0 ? "outgoing" : "incoming");
  f.number(FieldId::kTraceFaultAction, f.told.action);
  f.number(FieldId::kTraceCount, f.told.packets);
  f.tail_text(FieldId::kTraceFaultRule);
}

void fields(Fields<trace::Loss> f) {
  f.number(FieldId::kTraceEmitted, f.told.emitted);
  f.number(FieldId::kTraceLost, f.told.lost);
}

void fields(Fields<trace::Registration> f) {
  f.text(FieldId::kTraceRegistration, f.told.begun,
         f.told.begun != 0 ? "registered" : "deregistered");
  f.number(FieldId::kTraceMemoryAddress, f.told.address);
  f.number(FieldId::kTraceMemoryLength, f.told.length);
}

template <typename Told>
void report(const Event& event, decode::Sink& sink) {
  fields(Fields<Told>(event, sink));
}

using Report = void (*)(const Event&, decode::Sink&);
struct Type {
  Report report = nullptr;
  bool notable = false;
};

// By number; the first is none.
constexpr std::array<Type, trace::kEventTypes + 1> kTypes{{
    {},
    {report<trace::Endpoint>, true},
    {report<trace::Connection>, true},
    {report<trace::ConnectionEnd>, true},
    {report<trace::Message>, false},
    {report<trace::Operation>, false},
    {report<trace::OperationEnd>, false},
    {report<trace::Expose>, false},
    {report<trace::Withdraw>, false},
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
  const auto of = [&event](auto told) -> std::optional<std::uint32_t> {
    const auto read = trace::read_event<decltype(told)>(event.view);
    if (!read || read->xid == 0) return std::nullopt;
    return read->xid;
  };
  switch (event.type()) {
    case EventType::kOperation:
      return of(trace::Operation{});
    case EventType::kExpose:
      return of(trace::Expose{});
    case EventType::kCreditWait:
      return of(trace::CreditWait{});
    case EventType::kCall:
      return of(trace::Call{});
    case EventType::kCallEnd:
      return of(trace::CallEnd{});
    case EventType::kError:
      return of(trace::Error{});
    default:
      return std::nullopt;
  }
}

bool is_notable(const Event& event) {
  const auto loss = trace::read_event<trace::Loss>(event.view);
  return type_of(event.type()).notable || (loss && loss->lost != 0);
}

}  // namespace rpcrdma::trace_reader
