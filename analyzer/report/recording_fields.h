// Lists the fields of a recording in a report's JSON, for both writer and reader.
#pragma once

#include "report_fields_base.h"

#include <rpcrdma/decode/schema.h>
#include <rpcrdma/report/recording.h>

namespace rpcrdma::report {

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedEndpoint>& e) {
  a("name", e.name);
  a("role", e.role);
  if (a.present("source", roce::is_kernel(e.origin))) {
    a.name("source", e.origin, roce::origin_name, roce::kOrigins);
  }
  // A kernel is no process.
  a.given("process", !roce::is_kernel(e.origin), e.process);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedTimes>& t) {
  a.object_of("credit_wait_us", t.waiting);
  a.object_of("sending_us", t.sending);
  a.object_of("response_us", t.turn);
  a.object_of("completion_us", t.completion);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedSending>& s) {
  a.object_of("slot_wait_us", s.slot_wait);
  a.object_of("marshal_us", s.marshal);
  a.object_of("post_us", s.post);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedError>& e) {
  a("reason", e.reason);
  a.either("by", e.peer, "endpoint", "peer");
  a("count", e.count);
  a("first_frame", e.first_frame);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedFault>& f) {
  a("rule", f.rule);
  a.either("direction", f.outgoing, "incoming", "outgoing");
  a("action", f.action);
  a.derived("action_name",
            decode::value_name(decode::spec(decode::FieldId::kTraceFaultAction), f.action));
  a("packets", f.packets);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedProcedure>& p) {
  a("connection", p.connection);
  a.either("by", p.by_peer, "endpoint", "peer");
  a("program", p.program);
  a("version", p.version);
  a("procedure", p.procedure);
  a.derived("name", procedure_text(p));
  a("calls", p.calls);
  a("replies", p.replies);
  a("errors", p.errors);
  a("call_bytes", p.call_bytes);
  a("reply_bytes", p.reply_bytes);
  a("read_chunk_bytes", p.read_chunk_bytes);
  a("write_chunk_bytes", p.write_chunk_bytes);
  a("latency_sum_ns", p.latency_ns);
  a("latency_max_ns", p.max_latency_ns);
  a.derived("latency_p50_ns", latency_of(p, 0.5));
  a.derived("latency_p99_ns", latency_of(p, 0.99));
  a.rows("latency_buckets", p.latencies, {2, "expected two integers", trace::kSumBuckets},
         [](auto& row, auto& bucket) {
           row(bucket[0]);
           row(bucket[1]);
         });
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedConnection>& c) {
  a("connection", c.connection);
  a("sends", c.sums.sends);
  a("receives", c.sums.receives);
  a("send_bytes", c.sums.send_bytes);
  a("receive_bytes", c.sums.receive_bytes);
  a("read_bytes", c.sums.read_bytes);
  a("written_bytes", c.sums.written_bytes);
  a("credit_waits", c.sums.credit_waits);
  a("credit_wait_ns", c.sums.credit_wait_ns);
  a("send_queue_full", c.sums.send_queue_full);
  a("resent_calls", c.sums.resent_calls);
  a("flushed", c.sums.flushed);
  a("invalid_headers", c.sums.invalid_headers);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Recording>& r) {
  a("events", r.events.events);
  a("unknown", r.events.unknown);
  a("malformed", r.events.malformed);
  a("unattributed", r.events.unplaced);
  a("skipped", r.events.passed_over);
  a("emitted", r.events.emitted);
  a("received", r.events.received);
  a("lost", r.events.lost);
  a("missing", r.events.missing);
  a("truncated", r.events.open_ends);
  a("endpoint_count", r.events.endpoints);
  a.names("excluded", r.events.left_out, trace::event_type_name, trace::type_bit,
          trace::kEventTypes);
  a.objects("endpoints", r.endpoints, kMaxRecordedEndpoints);
  if (a.present("sending", r.sending.any())) a.object_of("sending", r.sending);
  a.object_of("made", r.made);
  a.object_of("served", r.served);
  a("credit_waits", r.credit_waits);
  a("advertised", r.advertised);
  a("advertised_bytes", r.advertised_bytes);
  a("invalidated_locally", r.invalidated_locally);
  a("invalidated_remotely", r.invalidated);
  a("receives", r.receives);
  a("errors_omitted", r.errors_omitted);
  a("faults_omitted", r.faults_omitted);
  a.objects("errors", r.errors, kMaxRecordedErrors);
  a.objects("faults", r.faults, kMaxRecordedFaults);
  if (a.present("sums", r.has_sums())) {
    a.object("sums", [&](auto& in) {
      in.objects("procedures", r.procedures, kMaxRecordedSums);
      in.objects("connections", r.connections, kMaxRecordedSums);
      in("omitted", r.sums_omitted);
    });
  }
}

}  // namespace rpcrdma::report
