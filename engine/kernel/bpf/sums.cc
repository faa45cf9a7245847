#include "sums.h"

#include "connection_event.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <bpf/bpf.h>
#include <fmt/core.h>

namespace rpcrdma::kernel {
namespace {

// The programs add entries during the pass, and the kernel may start it again when one is removed.
constexpr int kMostEntries = 16384;

constexpr trace::ConnectionEnd kEstablished{.established = 1};

template <typename Key, typename Value, typename Take>
base::Expected<void> for_each(int map, Take&& take) {
  Key key{}, next{};
  Value value;
  const void* before = nullptr;
  for (int i = 0; i < kMostEntries; ++i) {
    if (bpf_map_get_next_key(map, before, &next) != 0) {
      if (errno == ENOENT) return {};
      return base::fail(fmt::format("the kernel's sums cannot be read: {}", std::strerror(errno)));
    }
    key = next;
    before = &key;
    if (bpf_map_lookup_elem(map, &key, &value) == 0) take(key, value);
  }
  return {};
}

bool same_credits(const scope_connection_state& a, const scope_connection_state& b) {
  return a.requested == b.requested && a.granted == b.granted && a.in_use == b.in_use &&
         a.window == b.window && a.waiting == b.waiting;
}

bool same_sums(const scope_connection_state& a, const scope_connection_state& b) {
  return std::memcmp(&a.sends, &b.sends,
                     sizeof(scope_connection_state) - offsetof(scope_connection_state, sends)) == 0;
}

std::span<const std::uint8_t> text_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void emit_connection_sums(std::uint32_t number, std::int64_t now,
                          const scope_connection_state& state, EventSink& sink) {
  trace::ConnectionSums event;
  event.sends = state.sends;
  event.receives = state.receives;
  event.send_bytes = state.send_bytes;
  event.receive_bytes = state.receive_bytes;
  event.read_bytes = state.read_bytes;
  event.written_bytes = state.written_bytes;
  event.credit_waits = state.credit_waits;
  event.credit_wait_ns = state.credit_wait_ns;
  event.send_queue_full = state.send_queue_full;
  event.resent_calls = state.resent_calls;
  event.flushed = state.flushed;
  event.invalid_headers = state.invalid_headers;
  sink.emit(number, now, event);
}

void emit_credits(std::uint32_t number, std::int64_t now, bool client,
                  const scope_connection_state& state, EventSink& sink) {
  trace::Credits event;
  event.side = client ? 0 : 1;
  event.requested = state.requested;
  event.granted = state.granted;
  event.in_use = state.in_use;
  event.waiting = state.waiting;
  event.limit = client ? state.window : 0;
  sink.emit(number, now, event);
}

}  // namespace

void Sums::begin(std::int64_t now) {
  now_ = now;
  for (auto& [key, connection] : connections_) connection.seen = false;
}

void Sums::start(const scope_key& key, const scope_connection_state& state, Connection& connection,
                 EventSink& sink) const {
  connection = Connection{};
  connection.number = sink.new_connection();
  trace::Connection event = connection_event(key, state.local, state.peer);
  event.peer_qpn = state.peer_qpn;
  event.inline_send = state.inline_send;
  event.inline_receive = state.inline_receive;
  event.replayed = state.established == 0 ? 1 : 0;
  sink.emit(connection.number, now_, event);
}

void Sums::finish(Connection& connection, const trace::ConnectionEnd& event,
                  std::string_view reason, EventSink& sink) const {
  if (connection.ended) return;
  connection.ended = true;
  sink.emit(connection.number, now_, event, text_of(reason));
}

void Sums::connection(const scope_key& key, const scope_connection_state& state, EventSink& sink) {
  if (state.wanted == 0) return;
  const auto [at, is_new] = connections_.try_emplace(key_of(key));
  Connection& connection = at->second;
  if (is_new) {
    start(key, state, connection, sink);
  } else if (connection.state.first_seen != state.first_seen && connection.emitted) {
    // The kernel reused the address of its object.
    finish(connection, kEstablished, "its end was not seen", sink);
    start(key, state, connection, sink);
  }
  connection.seen = true;
  if (!connection.emitted || !same_sums(connection.state, state)) {
    emit_connection_sums(connection.number, now_, state, sink);
  }
  if (!connection.emitted || !same_credits(connection.state, state)) {
    emit_credits(connection.number, now_, key.role == SCOPE_CLIENT, state, sink);
  }
  connection.state = state;
  connection.emitted = true;
}

void Sums::procedure(const scope_procedure_key& key, const scope_procedure& sums, EventSink& sink) {
  const auto at = connections_.find(key_of(key.connection));
  if (at == connections_.end() || !at->second.seen || at->second.ended) return;
  Connection& connection = at->second;
  const Procedure procedure{key.program, key.version, key.procedure, key.reverse};
  const auto [known, is_new] = connection.procedures.try_emplace(procedure);
  constexpr std::size_t kCounters = offsetof(scope_procedure, bucket);
  if (!is_new && std::memcmp(&known->second, &sums, kCounters) == 0) return;
  std::memcpy(&known->second, &sums, kCounters);

  trace::ProcedureSums event;
  event.program = key.program;
  event.version = key.version;
  event.procedure = key.procedure;
  const bool of_client = key.connection.role == SCOPE_CLIENT;
  event.side = of_client == (key.reverse == 0) ? 0 : 1;
  event.calls = sums.calls;
  event.replies = sums.replies;
  event.errors = sums.errors;
  event.call_bytes = sums.call_bytes;
  event.reply_bytes = sums.reply_bytes;
  event.read_chunk_bytes = sums.read_chunk_bytes;
  event.write_chunk_bytes = sums.write_chunk_bytes;
  event.latency_ns = sums.latency_ns;
  event.max_latency_ns = sums.max_latency_ns;
  std::vector<std::uint8_t> histogram;
  for (std::uint32_t bucket = 0; bucket < SCOPE_SUM_BUCKETS; ++bucket) {
    if (sums.bucket[bucket] == 0) continue;
    const trace::SumBucket entry{bucket, 0, sums.bucket[bucket]};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&entry);
    histogram.insert(histogram.end(), bytes, bytes + sizeof entry);
  }
  sink.emit(connection.number, now_, event, histogram);
}

void Sums::end(EventSink& sink) {
  for (auto at = connections_.begin(); at != connections_.end();) {
    Connection& connection = at->second;
    const scope_connection_state& state = connection.state;
    if (connection.seen && state.ended != 0) {
      trace::ConnectionEnd event;
      const std::string reason =
          end_reason(std::get<2>(at->first), state.end_status, state.flushed, event);
      finish(connection, event, reason, sink);
    }
    if (!connection.seen) {
      finish(connection, kEstablished, "the table of connections is full; it was idle longest",
             sink);
      at = connections_.erase(at);
    } else {
      ++at;
    }
  }
}

base::Expected<void> read_sums(int connections, int procedures, Sums& sums, std::int64_t now,
                               EventSink& sink) {
  sums.begin(now);
  auto done = for_each<scope_key, scope_connection_state>(
      connections, [&](const scope_key& key, const scope_connection_state& state) {
        sums.connection(key, state, sink);
      });
  if (!done) return done;
  done = for_each<scope_procedure_key, scope_procedure>(
      procedures, [&](const scope_procedure_key& key, const scope_procedure& value) {
        sums.procedure(key, value, sink);
      });
  if (!done) return done;
  sums.end(sink);
  return {};
}

}  // namespace rpcrdma::kernel
