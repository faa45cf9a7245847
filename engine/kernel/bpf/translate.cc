#include "translate.h"

#include "connection_event.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include <rpcrdma/kernel_status/completion_status.h>

namespace rpcrdma::kernel {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kHere = 0, kPeer = 1;
constexpr std::uint32_t kRdmaError = 4;
// Of protocol::CallStatus.
constexpr std::uint8_t kReplied = 0, kTimedOut = 1, kErrorVersion = 2, kErrorChunk = 3,
                       kBadReply = 4, kClosed = 6;
// The kernel's error numbers, which are those of Linux on every architecture that it traces.
constexpr int kTimeout = 110, kRefused = 111;

// Copies a record; its ring entry may be longer. Nothing: it is too short.
template <typename Record>
std::optional<Record> read(Bytes bytes) {
  if (bytes.size() < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

std::uint32_t word(Bytes bytes, std::size_t index) {
  const std::size_t at = index * 4;
  if (bytes.size() < at + 4) return 0;
  return std::uint32_t{bytes[at]} << 24U | std::uint32_t{bytes[at + 1]} << 16U |
         std::uint32_t{bytes[at + 2]} << 8U | bytes[at + 3];
}

Bytes text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::int64_t signed_time(std::uint64_t time) {
  return static_cast<std::int64_t>(time);
}

const char* problem_text(std::uint32_t problem) {
  switch (problem) {
    case SCOPE_SHORT:
      return "the message is shorter than a transport header";
    case SCOPE_BAD_VERSION:
      return "the header has an RPC-over-RDMA version that the kernel does not support";
    case SCOPE_BAD_PROCEDURE:
      return "the header has an unknown message type";
    case SCOPE_BAD_CHUNKS:
      return "the kernel cannot decode the chunk lists";
    case SCOPE_DROPPED:
      return "the server dropped a message of a type that only servers send";
    case SCOPE_UNKNOWN_XID:
      return "no Call waits for this Reply";
    default:
      return "the kernel cannot use the message";
  }
}

std::string attempt_text(std::uint32_t role, int status) {
  if (role == SCOPE_CLIENT && status == -kRefused) return "the peer rejected the connection";
  return fmt::format("{}: {}",
                     role == SCOPE_CLIENT ? "connection attempt failed"
                                          : "the server could not accept the connection",
                     std::error_code(-status, std::generic_category()).message());
}

// The failures that the peer's RNIC reported, or its silence.
bool of_peer(fabric::Status status) {
  switch (status) {
    case fabric::Status::kRemoteInvalid:
    case fabric::Status::kRemoteAccess:
    case fabric::Status::kRemoteOperation:
    case fabric::Status::kBadResponse:
    case fabric::Status::kRetriesExceeded:
    case fabric::Status::kRnrRetriesExceeded:
      return true;
    default:
      return false;
  }
}

// Limits a map: removes its first entry if it is full.
template <typename Map>
void make_room(Map& map, std::size_t most) {
  if (map.size() >= most) map.erase(map.begin());
}

std::uint64_t chunk_key(std::uint32_t queue, std::int32_t completion, std::uint32_t write) {
  return std::uint64_t{queue} << 33U | std::uint64_t{write & 1U} << 32U |
         static_cast<std::uint32_t>(completion);
}

}  // namespace

std::int64_t Translator::order_of(Bytes bytes) {
  const auto record = read<scope_record>(bytes);
  if (!record) return 0;
  if (record->type == SCOPE_CONNECTION) {
    const auto connection = read<scope_connection>(bytes);
    if (connection && connection->established == 0) return 0;
  }
  return signed_time(record->time);
}

void Translator::move_to(std::int64_t time, std::span<std::uint8_t> bytes) {
  auto record = read<scope_record>(bytes);
  if (!record || signed_time(record->time) <= time) return;
  record->time = static_cast<std::uint64_t>(time);
  std::memcpy(bytes.data(), &*record, sizeof *record);
}

bool Translator::record(Bytes bytes, EventSink& sink) {
  const auto head = read<scope_record>(bytes);
  if (!head) return false;
  latest_ = std::max(latest_, signed_time(head->time));
  const auto pass = [&]<typename Record>(void (Translator::*handle)(const Record&, EventSink&)) {
    const auto whole = read<Record>(bytes);
    if (whole) (this->*handle)(*whole, sink);
    return whole.has_value();
  };
  switch (head->type) {
    case SCOPE_CONNECTION:
      return pass(&Translator::on_connection);
    case SCOPE_CONNECTION_END:
      return pass(&Translator::on_connection_end);
    case SCOPE_MESSAGE: {
      const auto message = read<scope_message>(bytes);
      if (!message || message->captured > bytes.size() - sizeof *message) return false;
      on_message(*message, bytes.subspan(sizeof *message, message->captured), sink);
      return true;
    }
    case SCOPE_OPERATIONS: {
      // Only the used part of the array is there.
      constexpr std::size_t kFixed = offsetof(scope_operations, segment);
      if (bytes.size() < kFixed) return false;
      scope_operations operations{};
      std::memcpy(&operations, bytes.data(), kFixed);
      if (operations.segments > SCOPE_SEGMENTS ||
          bytes.size() - kFixed < operations.segments * sizeof(scope_segment)) {
        return false;
      }
      std::memcpy(operations.segment, bytes.data() + kFixed,
                  operations.segments * sizeof(scope_segment));
      on_operations(operations, sink);
      return true;
    }
    case SCOPE_OPERATION_END:
      return pass(&Translator::on_operation_end);
    case SCOPE_MEMORY:
      return pass(&Translator::on_memory);
    case SCOPE_CREDIT_WAIT:
      return pass(&Translator::on_credit_wait);
    case SCOPE_CALL:
      return pass(&Translator::on_call);
    case SCOPE_CALL_END:
      return pass(&Translator::on_call_end);
    case SCOPE_ERROR:
      return pass(&Translator::on_error);
    default:
      return false;
  }
}

Translator::Connection& Translator::add(const Key& key, EventSink& sink) {
  if (const auto known = connections_.find(key); known != connections_.end()) {
    ages_.erase(known->second.age);
    connections_.erase(known);
  }
  while (connections_.size() >= kMostConnections) {
    connections_.erase(ages_.front());
    ages_.pop_front();
  }
  Connection& connection = connections_[key];
  connection.number = sink.new_connection();
  connection.age = ages_.insert(ages_.end(), key);
  connection.credits.side = key.role == SCOPE_CLIENT ? kHere : kPeer;
  return connection;
}

// A record of a connection whose first record was lost, or that was evicted, starts it again.
Translator::Connection& Translator::find(const scope_record& record, EventSink& sink) {
  const Key key{record.connection.object, record.connection.qpn, record.connection.role};
  const auto known = connections_.find(key);
  if (known != connections_.end()) {
    ages_.splice(ages_.end(), ages_, known->second.age);
    return known->second;
  }
  Connection& connection = add(key, sink);
  trace::Connection event = connection_event(record.connection, {}, {});
  event.replayed = 1;
  sink.emit(connection.number, signed_time(record.time), event);
  return connection;
}

void Translator::on_connection(const scope_connection& record, EventSink& sink) {
  const Key key{record.record.connection.object, record.record.connection.qpn,
                record.record.connection.role};
  const auto known = connections_.find(key);
  // The kernel's table may have dropped a connection that this one still has.
  if (known != connections_.end() && !known->second.ended && record.established == 0) return;
  if (known != connections_.end() && !known->second.ended) {
    trace::ConnectionEnd end;
    end.established = 1;
    sink.emit(known->second.number, signed_time(record.record.time), end,
              text_bytes("its end was not seen"));
  }
  Connection& connection = add(key, sink);
  connection.credits.granted = record.granted;
  trace::Connection event = connection_event(record.record.connection, record.local, record.peer);
  event.peer_qpn = record.peer_qpn;
  event.inline_send = record.inline_send;
  event.inline_receive = record.inline_receive;
  event.replayed = record.established == 0 ? 1 : 0;
  sink.emit(connection.number, signed_time(record.record.time), event);
}

void Translator::on_connection_end(const scope_connection_end& record, EventSink& sink) {
  const std::int64_t time = signed_time(record.record.time);
  trace::ConnectionEnd event;
  event.established = record.established != 0 ? 1 : 0;
  if (event.established == 0) {
    const bool of_client = record.record.connection.role == SCOPE_CLIENT;
    const trace::Connection ends =
        connection_event(record.record.connection, record.local, record.peer);
    event.active = ends.active;
    event.peer = ends.peer;
    event.port = ends.port;
    event.side = of_client && record.status == -kRefused ? kPeer : kHere;
    event.failed = event.side == kPeer ? 0 : 1;
    sink.emit(sink.new_connection(), time, event,
              text_bytes(attempt_text(record.record.connection.role, record.status)));
    return;
  }
  Connection& connection = find(record.record, sink);
  if (connection.ended) return;
  const std::string reason =
      end_reason(record.record.connection.role, record.status, record.flushed, event);
  sink.emit(connection.number, time, event, text_bytes(reason));
  connection.ended = true;
  connection.calls.clear();
  connection.chunks.clear();
}

void Translator::credits_of_message(Connection& connection, const scope_message& message,
                                    Bytes bytes) {
  trace::Credits& credits = connection.credits;
  const bool is_received = (message.flags & SCOPE_RECEIVED) != 0;
  const bool has_header = bytes.size() >= 16 && message.problem == SCOPE_NO_PROBLEM;
  if (message.record.connection.role == SCOPE_CLIENT) {
    credits.requested = message.requested;
    credits.in_use = message.in_use;
    credits.limit = message.window;
    credits.waiting = message.waiting;
    // Replies to forward Calls grant them; reverse-direction Calls do not.
    const bool reverse = (message.flags & SCOPE_HAS_CALL) != 0 && bytes.size() >= 36 &&
                         word(bytes, 4) == 0 && word(bytes, 5) == 0 && word(bytes, 6) == 0 &&
                         word(bytes, 8) == 0;
    if (is_received && has_header && !reverse) credits.granted = word(bytes, 2);
    credits.in_use_most = std::max(credits.in_use_most, credits.in_use);
    connection.credits_known = true;
    return;
  }
  if (!has_header) return;
  const std::uint32_t xid = word(bytes, 0);
  if (is_received && (message.flags & SCOPE_HAS_CALL) != 0) {
    make_room(connection.calls, kMostCalls);
    connection.calls.emplace(xid, std::uint8_t{0});
    credits.requested = word(bytes, 2);
  } else if (!is_received && connection.calls.erase(xid) != 0) {
    credits.granted = word(bytes, 2);
  } else {
    return;
  }
  credits.in_use = static_cast<std::uint32_t>(connection.calls.size());
  credits.in_use_most = std::max(credits.in_use_most, credits.in_use);
  connection.credits_known = true;
}

void Translator::on_message(const scope_message& record, Bytes bytes, EventSink& sink) {
  Connection& connection = find(record.record, sink);
  const std::int64_t time = signed_time(record.record.time);
  const bool is_received = (record.flags & SCOPE_RECEIVED) != 0;
  const bool is_client = record.record.connection.role == SCOPE_CLIENT;
  const std::uint32_t xid = word(bytes, 0);

  trace::Message event;
  event.side = is_received ? kPeer : kHere;
  event.has_invalidate = (record.flags & SCOPE_INVALIDATES) != 0 ? 1 : 0;
  event.length = std::max(record.length, record.captured);
  event.invalidate = event.has_invalidate != 0 ? record.invalidate : 0;
  sink.emit(connection.number, time, event, bytes);

  if (is_received && record.problem != SCOPE_NO_PROBLEM) {
    emit_error(connection, time, xid, kPeer, problem_text(record.problem), sink);
  }
  if (is_received && is_client && record.problem == SCOPE_NO_PROBLEM &&
      word(bytes, 3) == kRdmaError) {
    make_room(connection.calls, kMostCalls);
    connection.calls[xid] = word(bytes, 4) == 1 ? kErrorVersion : kErrorChunk;
  }
  credits_of_message(connection, record, bytes);
  if (!is_client && !is_received && record.called != 0) {
    trace::CallEnd end;
    end.xid = xid;
    end.side = kPeer;
    end.called = signed_time(record.called);
    end.sent = signed_time(record.started);
    end.replied = time;
    end.ended = time;
    sink.emit(connection.number, time, end);
  }
}

void Translator::on_operations(const scope_operations& record, EventSink& sink) {
  Connection& connection = find(record.record, sink);
  make_room(connection.chunks, kMostChunks);
  Chunk& chunk = connection.chunks[chunk_key(record.queue, record.completion, record.write)];
  chunk.first_id = connection.next_operation;
  chunk.lengths.clear();
  for (std::uint32_t i = record.segments; i-- > 0;) {  // the first one posted is the last one here
    const scope_segment& segment = record.segment[i];
    trace::Operation event;
    event.kind = record.write != 0 ? trace::Transfer::kWrite : trace::Transfer::kRead;
    event.side = kHere;
    event.handle = segment.handle;
    event.offset = segment.offset;
    event.length = segment.length;
    event.xid = record.xid;
    event.id = connection.next_operation++;
    chunk.lengths.push_back(segment.length);
    sink.emit(connection.number, signed_time(record.record.time), event);
  }
  if (record.more != 0) sink.lost(record.more);
}

void Translator::on_operation_end(const scope_operation_end& record, EventSink& sink) {
  Connection& connection = find(record.record, sink);
  const std::int64_t time = signed_time(record.record.time);
  const bool failed = record.status != 0;
  const auto chunk =
      connection.chunks.find(chunk_key(record.queue, record.completion, record.write));
  if (chunk != connection.chunks.end()) {
    for (std::size_t i = 0; i < chunk->second.lengths.size(); ++i) {
      if (record.write != 0 && !failed) continue;
      trace::OperationEnd event;
      event.kind = record.write != 0 ? trace::Transfer::kWrite : trace::Transfer::kRead;
      event.side = kHere;
      event.status = static_cast<std::uint8_t>(completion_status(record.status));
      event.length = failed ? 0 : chunk->second.lengths[i];
      event.id = chunk->second.first_id + i;
      sink.emit(connection.number, time, event);
    }
    connection.chunks.erase(chunk);
  }
  if (failed && record.status != kFlushed) {
    const fabric::Status status = completion_status(record.status);
    emit_error(
        connection, time, 0, of_peer(status) ? kPeer : kHere,
        fmt::format("RDMA {} failed: {}, vendor error {:#x}", record.write != 0 ? "Write" : "Read",
                    completion_status_name(record.status), record.vendor_error),
        sink);
  }
}

void Translator::on_memory(const scope_memory& record, EventSink& sink) {
  const Connection& connection = find(record.record, sink);
  const std::int64_t time = signed_time(record.record.time);
  if (record.action == SCOPE_ADVERTISED) {
    trace::Advertise event;
    event.handle = record.handle;
    event.length = record.length;
    event.offset = record.offset;
    event.xid = record.xid;
    event.access = static_cast<std::uint8_t>(record.writable != 0 ? fabric::Access::kRemoteWrite
                                                                  : fabric::Access::kRemoteRead);
    sink.emit(connection.number, time, event);
    return;
  }
  trace::Invalidate event;
  event.handle = record.handle;
  event.side = record.action == SCOPE_INVALIDATED_BY_PEER ? kPeer : kHere;
  sink.emit(connection.number, time, event);
}

void Translator::on_credit_wait(const scope_credit_wait& record, EventSink& sink) {
  const Connection& connection = find(record.record, sink);
  trace::CreditWait event;
  event.xid = record.xid;
  event.begun = record.begun != 0 ? 1 : 0;
  sink.emit(connection.number, signed_time(record.record.time), event);
}

void Translator::on_call(const scope_call& record, EventSink& sink) {
  const Connection& connection = find(record.record, sink);
  trace::Call event;
  event.xid = record.xid;
  event.program = record.program;
  event.version = record.version;
  event.procedure = record.procedure;
  event.side = record.record.connection.role == SCOPE_CLIENT ? kHere : kPeer;
  sink.emit(connection.number, signed_time(record.record.time), event);
}

void Translator::on_call_end(const scope_call_end& record, EventSink& sink) {
  Connection& connection = find(record.record, sink);
  std::uint8_t status = kReplied;
  const auto failure = connection.calls.find(record.xid);
  if (failure != connection.calls.end()) {
    status = failure->second;
    connection.calls.erase(failure);
  } else if (record.replied == 0) {
    status = record.status == -kTimeout ? kTimedOut : kClosed;
  }
  trace::CallEnd event;
  event.xid = record.xid;
  event.status = status;
  event.attempts = static_cast<std::uint16_t>(std::min(record.attempts, 0xffffU));
  event.called = signed_time(record.called);
  event.sent = signed_time(record.sent);
  event.replied = signed_time(record.reply);
  event.ended = signed_time(record.record.time);
  event.slot_wait = record.slot_wait;
  event.credit_wait = record.credit_wait;
  event.marshal = record.marshal;
  event.post = record.post;
  sink.emit(connection.number, signed_time(record.record.time), event);
}

void Translator::on_error(const scope_error& record, EventSink& sink) {
  Connection& connection = find(record.record, sink);
  const std::int64_t time = signed_time(record.record.time);
  const auto completion = [&](std::string_view what) {
    const auto number = static_cast<std::uint32_t>(record.status);
    if (number == kFlushed && connection.ended) return;  // the end flushes all that is left
    const fabric::Status status = completion_status(number);
    emit_error(connection, time, record.xid, of_peer(status) ? kPeer : kHere,
               fmt::format("{} failed: {}, vendor error {:#x}", what,
                           completion_status_name(number), record.vendor_error),
               sink);
  };
  switch (record.kind) {
    case SCOPE_COMPLETION_SEND:
      completion("Send");
      break;
    case SCOPE_COMPLETION_RECEIVE:
      completion("Receive");
      break;
    case SCOPE_COMPLETION_REGISTER:
      completion("memory registration");
      break;
    case SCOPE_COMPLETION_INVALIDATE:
      completion("local invalidation");
      break;
    case SCOPE_SEND_QUEUE_FULL:
      emit_error(connection, time, 0, kHere, "the send queue is full", sink);
      break;
    case SCOPE_BAD_REPLY_HEADER:
      make_room(connection.calls, kMostCalls);
      // An RDMA_ERROR is reported by its Message.
      if (connection.calls.emplace(record.xid, kBadReply).second) {
        emit_error(connection, time, record.xid, kPeer, "the kernel cannot use the Reply", sink);
      }
      break;
    case SCOPE_MARSHAL_FAILED:
    case SCOPE_POST_FAILED:
      emit_error(connection, time, record.xid, kHere,
                 fmt::format("the Call cannot be {}: {}",
                             record.kind == SCOPE_MARSHAL_FAILED ? "encoded" : "posted",
                             std::error_code(-record.status, std::generic_category()).message()),
                 sink);
      break;
    default:
      break;
  }
}

void Translator::emit_error(const Connection& connection, std::int64_t time, std::uint32_t xid,
                            std::uint8_t side, std::string_view text, EventSink& sink) {
  trace::Error event;
  event.xid = xid;
  event.side = side;
  sink.emit(connection.number, time, event, text_bytes(text));
}

std::vector<scope_key> Translator::open_connections() const {
  std::vector<scope_key> open;
  for (const auto& [key, connection] : connections_) {
    if (!connection.ended) open.push_back({key.object, key.qpn, key.role});
  }
  return open;
}

void Translator::end_of_batch(EventSink& sink) {
  for (auto& [key, connection] : connections_) {
    if (!connection.credits_known) continue;
    connection.credits_known = false;
    trace::Credits& now = connection.credits;
    const trace::Credits& before = connection.emitted;
    if (now.requested != before.requested || now.granted != before.granted ||
        now.in_use != before.in_use || now.waiting != before.waiting || now.limit != before.limit ||
        now.in_use_most != before.in_use_most) {
      sink.emit(connection.number, latest_, now);
      connection.emitted = now;
    }
    now.in_use_most = now.in_use;
  }
}

}  // namespace rpcrdma::kernel
