// Builds trace events and pcapng blocks, and converts packet traffic to an endpoint's
// events.
#include "trace_builder.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include <rpcrdma/roce/tracker.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::trace_reader::testing {

namespace {

constexpr std::array<std::uint8_t, 16> ipv4_mapped(const std::array<std::uint8_t, 4>& a) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a[0], a[1], a[2], a[3]};
}

std::array<std::uint8_t, 16> mapped(const capture::Address& a) {
  if (a.kind != capture::AddressKind::kIpv4) return a.bytes;
  return ipv4_mapped({a.bytes[0], a.bytes[1], a.bytes[2], a.bytes[3]});
}

template <typename T>
void append(Bytes& out, T value) {
  std::array<std::uint8_t, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// A pcapng block around `body`, which is a multiple of four bytes.
void append_block(Bytes& out, std::uint32_t type, const Bytes& body) {
  const auto total = static_cast<std::uint32_t>(body.size() + 12);
  append(out, type);
  append(out, total);
  out.insert(out.end(), body.begin(), body.end());
  append(out, total);
}

}  // namespace

TraceBuilder& TraceBuilder::begin(std::string_view name, std::string_view role,
                                  std::uint32_t process, trace::EventSource source) {
  emitted_ = lost_ = lost_reported_ = 0;
  trace::Endpoint event;
  event.name_bytes = static_cast<std::uint16_t>(name.size());
  event.process = process;
  event.source = source;
  event.wall = wall + now;
  event.since = wall;
  const std::uint32_t of = std::exchange(ring, 0);
  put(0, event, bytes_of(name), bytes_of(role));
  ring = of;
  return *this;
}

TraceBuilder& TraceBuilder::emit_loss() {
  lost_reported_ = lost_;
  put(0, trace::Loss{emitted_, lost_}, {}, {});
  return *this;
}

TraceBuilder& TraceBuilder::raw(std::span<const std::uint8_t> event) {
  Frame& frame = frames_.emplace_back();
  frame.time_ns = wall + now;
  frame.data.assign(trace::kUpperPduTags.begin(), trace::kUpperPduTags.end());
  frame.data.insert(frame.data.end(), event.begin(), event.end());
  now += step;
  return *this;
}

Bytes TraceBuilder::pcapng() const {
  Bytes out;
  Bytes body;
  append(body, std::uint32_t{0x1a2b3c4d});
  append(body, std::uint32_t{1});
  append(body, ~std::uint64_t{0});
  append_block(out, 0x0a0d0d0a, body);
  body.clear();
  append(body, std::uint32_t{252});
  append(body, std::uint32_t{0});
  append(body, std::uint32_t{0x0001'0009});  // if_tsresol
  append(body, std::uint32_t{9});            // nanoseconds
  append(body, std::uint32_t{0});
  append_block(out, 1, body);
  for (const Frame& frame : frames_) {
    body.clear();
    append(body, std::uint32_t{0});
    append(body, static_cast<std::uint32_t>(frame.time_ns >> 32));
    append(body, static_cast<std::uint32_t>(frame.time_ns));
    append(body, static_cast<std::uint32_t>(frame.data.size()));
    append(body, static_cast<std::uint32_t>(frame.data.size()));
    body.insert(body.end(), frame.data.begin(), frame.data.end());
    body.resize((body.size() + 3) / 4 * 4);
    append_block(out, 6, body);
  }
  return out;
}

trace::Connection plain_connection() {
  trace::Connection c;
  c.local = ipv4_mapped({192, 0, 2, 1});
  c.peer = ipv4_mapped({192, 0, 2, 2});
  c.local_qpn = 0x100;
  c.peer_qpn = 0x200;
  c.port = 20049;
  c.active = 1;
  c.version = 1;
  c.inline_send = c.inline_receive = 4096;
  c.responder_resources = c.initiator_depth = 16;
  c.sees_peer_operations = 1;
  return c;
}

Bytes plain_private_data() {
  wire::PrivateData data;
  data.flags = wire::kPrivateDataFlagR;
  data.send_code = data.recv_code = wire::inline_size_code(4096);
  const auto bytes = wire::encode_private_data(data);
  return {bytes.begin(), bytes.end()};
}

void EventSource::on_open(const roce::Connection& c) {
  at(c.last_ns);
  const roce::Side& own = c.side[options_.side];
  const roce::Side& peer = c.side[1U - options_.side];
  trace::Connection event;
  event.local = mapped(own.address);
  event.peer = mapped(peer.address);
  event.local_qpn = own.qpn;
  event.peer_qpn = peer.qpn;
  event.port = wire::service_port(c.service_id);
  event.active = options_.side == 0 ? 1 : 0;
  event.sent_private_data = static_cast<std::uint16_t>(own.cm.private_data.size());
  const auto depth = [](std::uint16_t a, std::uint16_t b) {
    return static_cast<std::uint8_t>(std::min<std::uint16_t>({a, b, UINT8_MAX}));
  };
  event.responder_resources = depth(own.cm.responder_resources, peer.cm.initiator_depth);
  event.initiator_depth = depth(own.cm.initiator_depth, peer.cm.responder_resources);
  event.sees_peer_operations = options_.sees_peer_operations ? 1 : 0;
  event.replayed = c.setup == roce::Setup::kCm ? 0 : 1;
  if (fields_only()) {
    event.local_qpn = event.peer_qpn = 0;
    event.responder_resources = event.initiator_depth = 0;
    event.sent_private_data = 0;
    event.sees_peer_operations = 0;
    event.private_data_unknown = 1;
    to_.emit(c.index + 1, event);
    return;
  }
  to_.emit(c.index + 1, event, own.cm.private_data, peer.cm.private_data);
}

void EventSource::on_close(const roce::Connection& c) {
  if (c.state < roce::State::kRejected) return;  // only the capture ended
  at(c.last_ns);
  trace::ConnectionEnd event;
  event.side = c.closed_by < 0 ? 0 : recorded(c.closed_by);
  event.established = c.state == roce::State::kClosed ? 1 : 0;
  event.reject_reason = c.reject_reason;
  if (event.established == 0) {
    event.peer = mapped(c.side[1U - options_.side].address);
    event.port = wire::service_port(c.service_id);
    event.active = options_.side == 0 ? 1 : 0;
  }
  to_.emit(c.index + 1, event);
}

void EventSource::on_send(const roce::Connection& c, const roce::SendMessage& send) {
  at(send.time_ns);
  if (fields_only()) return send_fields(c, send);
  trace::Message event;
  event.side = recorded(send.sender);
  event.length = static_cast<std::uint32_t>(send.wire_length);
  event.has_invalidate = send.has_invalidate ? 1 : 0;
  event.invalidate = send.invalidate_handle;
  to_.emit(c.index + 1, event, send.data);
}

// The kernel reports a header that it cannot decode as an error, and a message as its fields.
void EventSource::send_fields(const roce::Connection& c, const roce::SendMessage& send) {
  const auto header = wire::decode_header(send.data);
  if (!header) {
    trace::Error error;
    error.side = recorded(send.sender);
    to_.emit(c.index + 1, error, bytes_of("invalid header"));
    return;
  }
  trace::Message event;
  event.side = recorded(send.sender);
  event.unknown = trace::kBytesUnknown;
  event.length = static_cast<std::uint32_t>(send.wire_length);
  event.has_invalidate = send.has_invalidate ? 1 : 0;
  event.invalidate = send.invalidate_handle;
  // XID and direction; in a Call also the procedure.
  constexpr std::size_t kReplyWords = 8, kCallWords = 24;
  std::span<const std::uint8_t> rpc = send.data.subspan(header->length);
  const bool call = rpc.size() >= kCallWords && wire::load_be32(rpc.data() + 4) == 0;
  rpc = rpc.first(std::min(rpc.size(), call ? kCallWords : kReplyWords));
  Bytes payload(send.data.begin(), send.data.begin() + header->length);
  payload.insert(payload.end(), rpc.begin(), rpc.end());
  if (event.side == 0) {
    event.unknown |= trace::kCreditUnknown;
    std::fill_n(payload.begin() + 8, 4, std::uint8_t{0});
  }
  to_.emit(c.index + 1, event, payload);
}

// A Write is recorded once it is complete, since its event has its bytes.
void EventSource::on_operation(const roce::Connection& c, roce::Operation& op) {
  op.tag = next_id_++;
  op.want_data = true;
  data_[op.tag];
  if (op.kind == roce::OpKind::kWrite || hidden(op)) return;
  at(op.first_ns);
  trace::Operation event;
  event.kind = trace::Transfer::kRead;
  event.side = recorded(op.initiator);
  event.handle = op.handle;
  event.offset = op.offset;
  event.length = op.length;
  event.id = op.tag;
  to_.emit(c.index + 1, event);
}

void EventSource::on_data(const roce::OperationData& event) {
  const std::span<const std::uint8_t> data = event.data;
  Bytes& kept = data_[event.op.tag];
  kept.resize(std::max<std::size_t>(kept.size(), event.offset + data.size()));
  std::copy(data.begin(), data.end(), kept.begin() + static_cast<std::ptrdiff_t>(event.offset));
}

void EventSource::on_operation_end(const roce::Connection& c, const roce::Operation& op) {
  const Bytes data = std::move(data_[op.tag]);
  data_.erase(op.tag);
  if (hidden(op)) return;
  at(op.last_ns);
  const bool write = op.kind == roce::OpKind::kWrite;
  if (write) {
    trace::Operation event;
    event.kind = trace::Transfer::kWrite;
    event.side = recorded(op.initiator);
    event.handle = op.handle;
    event.offset = op.offset;
    event.length = op.length;
    event.id = op.tag;
    to_.emit(c.index + 1, event, data);
    if (op.complete) return;
  }
  trace::OperationEnd event;
  event.kind = write ? trace::Transfer::kWrite : trace::Transfer::kRead;
  event.side = recorded(op.initiator);
  event.status = op.complete ? 0 : 4;  // flushed
  event.length = static_cast<std::uint32_t>(op.bytes);
  event.id = op.tag;
  to_.emit(c.index + 1, event, write ? Bytes{} : data);
}

void EventSource::on_acknowledge(const roce::Acknowledgement& seen) {
  const wire::Aeth& aeth = seen.aeth;
  if (aeth.is_ack() || fields_only()) return;
  at(seen.meta.time_ns);
  trace::Fabric event;
  event.kind = aeth.is_rnr() ? trace::FabricKind::kRnr : trace::FabricKind::kNak;
  event.side = recorded(seen.sender);
  event.code = aeth.value();
  event.psn = seen.psn;
  to_.emit(seen.connection.index + 1, event);
}

void EventSource::on_retransmission(const roce::Retransmission& seen) {
  if (fields_only()) return;
  at(seen.meta.time_ns);
  trace::Fabric event;
  event.side = recorded(seen.sender);
  event.count = static_cast<std::uint32_t>(seen.count);
  to_.emit(seen.connection.index + 1, event);
}

TraceBuilder events_of_capture(std::span<const std::uint8_t> file,
                               const EventSource::Options& options) {
  TraceBuilder trace;
  const auto source = capture::open_memory(file);
  if (!source) {
    ADD_FAILURE() << source.error().message;
    return trace;
  }
  EventSource emitter(trace, options);
  roce::Tracker tracker(emitter);
  capture::Frame frame;
  while ((*source)->next(frame).value_or(false)) {
    roce::PreparedPacket packet;
    if (capture::dissect_link(frame, packet.transport) != capture::LinkResult::kRoce) continue;
    packet.meta = {frame.number, frame.time_ns};
    roce::prepare(packet);
    tracker.packet(packet);
  }
  tracker.finish();
  trace.end();
  return trace;
}

}  // namespace rpcrdma::trace_reader::testing
