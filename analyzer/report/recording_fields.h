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
  a("process", e.process);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, RecordedTimes>& t) {
  a.object_of("credit_wait_us", t.waiting);
  a.object_of("sending_us", t.sending);
  a.object_of("response_us", t.turn);
  a.object_of("completion_us", t.completion);
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
}

}  // namespace rpcrdma::report
