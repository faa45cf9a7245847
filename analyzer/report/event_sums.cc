#include "event_sums.h"

#include <algorithm>
#include <optional>
#include <string>

#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::report {

namespace {

using trace::EventType;
using trace_reader::Event;

// Returns the time between two timestamps; none if a writer's clock makes no sense.
std::optional<std::int64_t> between(std::int64_t from, std::int64_t to) {
  if (from == 0 || to < from) return std::nullopt;
  const std::uint64_t ns = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  if (ns > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(ns);
}

void add_part(base::Histogram& to, std::int64_t from_ns, std::int64_t to_ns) {
  if (const auto ns = between(from_ns, to_ns)) to.add(*ns);
}

void add_known(base::Histogram& to, std::int64_t ns) {
  if (ns >= 0) to.add(ns);
}

// Returns the start of a text, up to the length that is kept.
std::string words(wire::Bytes payload) {
  constexpr std::size_t kKept = 256;
  payload = payload.first(std::min(payload.size(), kKept));
  return decode::valid_utf8({reinterpret_cast<const char*>(payload.data()), payload.size()});
}

}  // namespace

void EventSums::on_event(const Event& event) {
  Recording& r = recording_;
  switch (event.type()) {
    case EventType::kEndpoint: {
      const auto recorded = *trace::read_event<trace::Endpoint>(event.view);
      const std::size_t name =
          std::min<std::size_t>(recorded.name_bytes, event.view.payload.size());
      r.note(RecordedEndpoint{words(event.view.payload.first(name)),
                              words(event.view.payload.subspan(name)), recorded.process,
                              trace_reader::origin_of(recorded.source)});
      break;
    }
    case EventType::kConnectionEnd:
      if (event.connection != nullptr) connection_end(event.connection->index);
      break;
    case EventType::kAdvertise:
      ++r.advertised;
      r.advertised_bytes += trace::read_event<trace::Advertise>(event.view)->length;
      break;
    case EventType::kInvalidate:
      ++(trace::read_event<trace::Invalidate>(event.view)->side == 0 ? r.invalidated_locally
                                                                     : r.invalidated);
      break;
    case EventType::kReceives:
      r.receives += trace::read_event<trace::Receives>(event.view)->posted;
      break;
    case EventType::kCreditWait:
      credit_wait(event);
      break;
    case EventType::kCallEnd:
      call_end(event);
      break;
    case EventType::kError: {
      const auto recorded = *trace::read_event<trace::Error>(event.view);
      r.note(RecordedError{words(event.view.payload), recorded.side != 0, 1, event.meta.frame});
      break;
    }
    case EventType::kFault: {
      const auto recorded = *trace::read_event<trace::Fault>(event.view);
      r.note(RecordedFault{words(event.view.payload), recorded.outgoing != 0, recorded.action,
                           recorded.packets});
      break;
    }
    case EventType::kProcedureSums:
    case EventType::kConnectionSums:
      if (event.connection != nullptr) sums_.take(event.connection->index, event.view);
      break;
    default:
      break;
  }
}

Recording EventSums::recording() const {
  Recording all = recording_;
  all.sums_omitted = sums_.omitted();
  for (const auto& [key, counted] : sums_.procedures()) {
    if (all.procedures.size() == kMaxRecordedSums) {
      ++all.sums_omitted;
      continue;
    }
    const trace::ProcedureSums& s = counted.latest.sums;
    RecordedProcedure& p = all.procedures.emplace_back();
    p.connection = key.connection + 1;
    p.by_peer = key.side != 0;
    p.program = key.program;
    p.version = key.version;
    p.procedure = key.procedure;
    p.calls = s.calls;
    p.replies = s.replies;
    p.errors = s.errors;
    p.call_bytes = s.call_bytes;
    p.reply_bytes = s.reply_bytes;
    p.read_chunk_bytes = s.read_chunk_bytes;
    p.write_chunk_bytes = s.write_chunk_bytes;
    p.latency_ns = s.latency_ns;
    p.max_latency_ns = s.max_latency_ns;
    for (const auto& [bucket, count] : counted.latest.latencies.buckets()) {
      p.latencies.push_back({bucket, count});
    }
  }
  for (const auto& [connection, counted] : sums_.connections()) {
    if (all.connections.size() == kMaxRecordedSums) {
      ++all.sums_omitted;
      continue;
    }
    all.connections.push_back({connection + 1, counted.latest});
  }
  return all;
}

void EventSums::credit_wait(const Event& event) {
  const auto recorded = *trace::read_event<trace::CreditWait>(event.view);
  if (recorded.begun != 0) ++recording_.credit_waits;
  if (event.connection == nullptr) return;
  const std::pair key{event.connection->index, recorded.xid};
  auto at = waited_.find(key);
  if (recorded.begun != 0) {
    if (at == waited_.end()) {
      if (waited_.size() >= kMaxWaiting) return;
      at = waited_.emplace(key, Waited{}).first;
    }
    at->second.since = event.view.header.time;
  } else if (at != waited_.end()) {
    at->second.ns += between(at->second.since, event.view.header.time).value_or(0);
    at->second.since = 0;
  }
}

void EventSums::call_end(const Event& event) {
  const auto recorded = *trace::read_event<trace::CallEnd>(event.view);
  std::int64_t waited = 0;
  if (recorded.side == 0 && event.connection != nullptr) {
    const auto at = waited_.find({event.connection->index, recorded.xid});
    if (at != waited_.end()) {
      waited = at->second.ns;
      waited_.erase(at);
    }
  }
  RecordedTimes& times = recorded.side == 0 ? recording_.made : recording_.served;
  if (recorded.side == 0) {
    // A kernel states the wait itself.
    waited = std::max(waited, recorded.credit_wait);
    add_known(recording_.sending.slot_wait, recorded.slot_wait);
    add_known(recording_.sending.marshal, recorded.marshal);
    add_known(recording_.sending.post, recorded.post);
  }
  if (const auto before = between(recorded.called, recorded.sent)) {
    waited = std::min(waited, *before);
    if (recorded.side == 0) times.waiting.add(waited);
    times.sending.add(*before - waited);
  }
  // A Call without Read chunks is dispatched to its program at once.
  const bool at_once = recorded.side != 0 && recorded.sent == 0;
  add_part(times.turn, at_once ? recorded.called : recorded.sent, recorded.replied);
  add_part(times.completion, recorded.replied, recorded.ended);
}

// Drops the waits of the connection's Calls: Calls that end with it may have no event of their own.
void EventSums::connection_end(std::uint32_t connection) {
  waited_.erase(waited_.lower_bound({connection, 0}),
                waited_.upper_bound({connection, UINT32_MAX}));
}

}  // namespace rpcrdma::report
