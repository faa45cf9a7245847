#include "recording_json.h"

#include "histogram_json.h"

#include <array>

#include <rpcrdma/decode/schema.h>

namespace rpcrdma::report {

namespace {

void write_left_out(JsonWriter& json, std::uint64_t types) {
  json.array("left_out");
  for (unsigned n = 1; n <= trace::kEventTypes; ++n) {
    const auto type = static_cast<trace::EventType>(n);
    if ((types & trace::type_bit(type)) != 0) json.value(trace::event_type_name(type));
  }
  json.end();
}

// Reports of before it was told have none.
std::uint64_t read_left_out(const JsonNode& n) {
  if (!n.has("left_out")) return 0;
  std::array<const char*, trace::kEventTypes> names{};
  for (unsigned i = 0; i < names.size(); ++i) {
    names[i] = trace::event_type_name(static_cast<trace::EventType>(i + 1));
  }
  std::uint64_t types = 0;
  n.get("left_out").for_each([&](const JsonNode& name) {
    types |=
        trace::type_bit(static_cast<trace::EventType>(name.one_of(names.data(), names.size()) + 1));
  });
  return types;
}

void write_times(JsonWriter& json, const char* key, const RecordedTimes& t) {
  json.object(key);
  write_histogram(json, "waiting_us", t.waiting);
  write_histogram(json, "sending_us", t.sending);
  write_histogram(json, "turn_us", t.turn);
  write_histogram(json, "completion_us", t.completion);
  json.end();
}

void read_times(const JsonNode& n, RecordedTimes& t) {
  t.waiting = read_histogram(n.get("waiting_us"));
  t.sending = read_histogram(n.get("sending_us"));
  t.turn = read_histogram(n.get("turn_us"));
  t.completion = read_histogram(n.get("completion_us"));
}

// Each counter once, for the writer and the reader.
template <typename Stats, typename Function>
void for_each_counter(Stats& s, Function&& f) {
  f("events", s.events);
  f("unknown", s.unknown);
  f("malformed", s.malformed);
  f("unplaced", s.unplaced);
  f("passed_over", s.passed_over);
  f("emitted", s.emitted);
  f("received", s.received);
  f("lost", s.lost);
  f("missing", s.missing);
  f("open_ends", s.open_ends);
  f("endpoint_count", s.endpoints);
}

template <typename R, typename Function>
void for_each_sum(R& r, Function&& f) {
  f("credit_waits", r.credit_waits);
  f("exposed", r.exposed);
  f("exposed_bytes", r.exposed_bytes);
  f("withdrawn", r.withdrawn);
  f("invalidated", r.invalidated);
  f("receives", r.receives);
  f("errors_omitted", r.errors_omitted);
  f("faults_omitted", r.faults_omitted);
}

}  // namespace

void write_recording(JsonWriter& json, const Recording& r) {
  if (!r.any()) {
    json.null("recording");
    return;
  }
  const auto number = [&json](const char* key, std::uint64_t value) { json.field(key, value); };
  json.object("recording");
  for_each_counter(r.events, number);
  write_left_out(json, r.events.left_out);
  json.array("endpoints");
  for (const RecordedEndpoint& e : r.endpoints) {
    json.object();
    json.field("name", e.name);
    json.field("role", e.role);
    json.field("process", e.process);
    json.end();
  }
  json.end();
  write_times(json, "made", r.made);
  write_times(json, "served", r.served);
  for_each_sum(r, number);
  json.array("errors");
  for (const RecordedError& e : r.errors) {
    json.object();
    json.field("reason", e.reason);
    json.field("by", e.peer ? "peer" : "endpoint");
    json.field("count", e.count);
    json.field("first_frame", e.first_frame);
    json.end();
  }
  json.end();
  json.array("faults");
  for (const RecordedFault& f : r.faults) {
    json.object();
    json.field("rule", f.rule);
    json.field("direction", f.outgoing ? "outgoing" : "incoming");
    json.field("action", f.action);
    json.field("action_name",
               decode::value_name(decode::spec(decode::FieldId::kTraceFaultAction), f.action));
    json.field("packets", f.packets);
    json.end();
  }
  json.end();
  json.end();
}

void read_recording(const JsonNode& n, Recording& r) {
  const auto number = [&n](const char* key, std::uint64_t& value) { n.into(key, value); };
  for_each_counter(r.events, number);
  r.events.left_out = read_left_out(n);
  const JsonNode endpoints = n.get("endpoints");
  if (endpoints.size() > kMaxRecordedEndpoints) endpoints.fail("more than are kept");
  endpoints.for_each([&](const JsonNode& e) {
    RecordedEndpoint& to = r.endpoints.emplace_back();
    e.into("name", to.name);
    e.into("role", to.role);
    e.into("process", to.process);
  });
  read_times(n.get("made"), r.made);
  read_times(n.get("served"), r.served);
  for_each_sum(r, number);
  const JsonNode errors = n.get("errors");
  if (errors.size() > kMaxRecordedErrors) errors.fail("more than are kept");
  errors.for_each([&](const JsonNode& e) {
    RecordedError& to = r.errors.emplace_back();
    e.into("reason", to.reason);
    to.peer = e.get("by").second_of("endpoint", "peer");
    e.into("count", to.count);
    e.into("first_frame", to.first_frame);
  });
  const JsonNode faults = n.get("faults");
  if (faults.size() > kMaxRecordedFaults) faults.fail("more than are kept");
  faults.for_each([&](const JsonNode& f) {
    RecordedFault& to = r.faults.emplace_back();
    f.into("rule", to.rule);
    to.outgoing = f.get("direction").second_of("incoming", "outgoing");
    const std::uint32_t action = f.get("action").u32();
    if (action > UINT8_MAX) f.get("action").fail("not a number of 8 bits");
    to.action = static_cast<std::uint8_t>(action);
    f.into("packets", to.packets);
  });
}

}  // namespace rpcrdma::report
