#include "trace_hooks.h"

#include <new>
#include <string>

#include <fmt/core.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::service {

using fabric::Time;

namespace {

// A rejection's message always has the same length, filled with zeros.
wire::Bytes without_fill(wire::Bytes private_data) {
  while (!private_data.empty() && private_data.back() == 0) {
    private_data = private_data.first(private_data.size() - 1);
  }
  return private_data;
}

void emit(Loop& loop, std::uint32_t connection, const EndedConnection& end,
          trace::ConnectionEnd event, std::string_view what, Time now) {
  event.side = end.side;
  event.reject_reason = end.reject_reason;
  event.failed = end.failed ? 1 : 0;
  const wire::Bytes private_data = without_fill(end.private_data);
  event.private_data = static_cast<std::uint16_t>(private_data.size());
  loop.tracer()->emit(connection, now, event, base::as_bytes(what), private_data);
}

}  // namespace

std::uint32_t new_trace_connection(const Loop& loop) {
  return loop.tracer() != nullptr ? loop.tracer()->new_connection() : 0;
}

bool in_trace_sample(const Loop& loop, std::uint32_t connection) {
  return loop.tracer() != nullptr && loop.tracer()->in_sample(connection);
}

trace::ConnectionTracer connection_tracer(const Loop& loop, std::uint32_t connection,
                                          bool in_sample) {
  return in_sample ? trace::ConnectionTracer{loop.tracer(), connection} : trace::ConnectionTracer();
}

void trace_established(Loop& loop, std::uint32_t connection, const EstablishedConnection& what,
                       Time now) {
  if (loop.tracer() == nullptr) return;
  trace::Connection event;
  event.local = what.event.local.gid();
  event.peer = what.event.peer.gid();
  event.local_qpn = what.event.local_qpn;
  event.peer_qpn = what.event.peer_qpn;
  event.port = what.port;
  event.active = what.active ? 1 : 0;
  // With two versions, it is known only with the first Reply.
  if (what.versions.low == what.versions.high) {
    event.version = static_cast<std::uint8_t>(what.versions.low);
  }
  event.inline_send = what.thresholds.send;
  event.inline_receive = what.thresholds.receive;
  event.sent_private_data = static_cast<std::uint16_t>(what.sent.size());
  event.responder_resources = what.event.responder_resources;
  event.initiator_depth = what.event.initiator_depth;
  event.path_mtu = what.event.path_mtu;
  event.not_sampled = what.in_sample ? 0 : 1;
  event.sees_peer_operations = loop.provider().limits().sees_peer_operations ? 1 : 0;
  loop.tracer()->emit(connection, now, event, what.sent, what.received);
}

void trace_end(Loop& loop, std::uint32_t connection, const EndedConnection& end, Time now) {
  if (loop.tracer() == nullptr) return;
  trace::ConnectionEnd event;
  event.established = 1;
  emit(loop, connection, end, event, end.what, now);
}

void trace_failed(Loop& loop, std::uint32_t connection, const EndedConnection& end,
                  const FailedConnection& what, Time now) {
  if (loop.tracer() == nullptr) return;
  trace::ConnectionEnd event;
  event.peer = what.peer.gid();
  event.port = what.port;
  event.active = what.active ? 1 : 0;
  std::string text;
  try {
    text = fmt::format("{}: {}", what.peer.to_string(), end.what);
  } catch (const std::bad_alloc&) {
    return emit(loop, connection, end, event, end.what, now);
  }
  emit(loop, connection, end, event, text, now);
}

}  // namespace rpcrdma::service
