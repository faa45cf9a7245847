// Summaries as JSON.
#include "bounded_text.h"
#include "json_fields.h"
#include "latency.h"

#include <set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::fleet {

namespace {

using nlohmann::json;

constexpr std::array<const char*, 2> kSources{"endpoint", "kernel"};
constexpr std::array<const char*, 4> kEnds{"", "closed", "killed", "refused"};
constexpr std::size_t kMostId = 64;  // bytes of the IDs of a boot and an instance

template <typename Enum, std::size_t N>
Enum choice(Fields& fields, const char* key, const std::array<const char*, N>& names) {
  const std::string text = fields.text(key, kMostId);
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  fields.fail(key, "not a known word");
  return Enum{};
}

json endpoint_json(const EndpointSummary& e) {
  json recordings = json::array();
  for (const RecordingSummary& r : e.recordings) {
    if (recordings.size() == kMostRecordings) break;
    recordings.push_back({{"file", bounded_text(r.file, kMostText)},
                          {"bytes", r.bytes},
                          {"on_demand", r.on_demand}});
  }
  json latency = latency_json(e.latency);
  latency["epoch"] = e.latency_epoch;
  return {{"name", bounded_text(e.name, kMostName)},
          {"role", bounded_text(e.role, kMostText)},
          {"user", bounded_text(e.user, kMostName)},
          {"process", e.process},
          {"source", kSources[static_cast<std::size_t>(e.source)]},
          {"since_ns", e.since_ns},
          {"generation", e.generation},
          {"end", kEnds[static_cast<std::size_t>(e.end)]},
          {"why", bounded_text(e.why, kMostText)},
          {"connections", e.connections},
          {"credits",
           {{"requested", e.credits.requested},
            {"granted", e.credits.granted},
            {"in_use", e.credits.in_use},
            {"waiting", e.credits.waiting}}},
          {"calls", e.counters.calls},
          {"replies", e.counters.replies},
          {"errors", e.counters.errors},
          {"chunk_bytes", e.counters.chunk_bytes},
          {"latency", std::move(latency)},
          {"events", e.events},
          {"events_lost", e.events_lost},
          {"faults", e.faults},
          {"findings", e.findings},
          {"recordings", std::move(recordings)}};
}

EndpointSummary endpoint_from(Fields& f, const std::string& where, std::string& error) {
  EndpointSummary e;
  e.name = f.text("name", kMostName);
  e.role = f.text("role", kMostText);
  e.user = f.text("user", kMostName);
  e.process = f.small("process");
  e.source = choice<Source>(f, "source", kSources);
  e.since_ns = f.time("since_ns");
  e.generation = f.number("generation");
  e.end = choice<EndpointEnd>(f, "end", kEnds);
  e.why = f.text("why", kMostText);
  e.connections = f.number("connections");
  if (const json* const credits = f.find("credits")) {
    Fields c(*credits, where + "credits.", error);
    e.credits.requested = c.number("requested");
    e.credits.granted = c.number("granted");
    e.credits.in_use = c.number("in_use");
    e.credits.waiting = c.number("waiting");
  }
  e.counters.calls = f.number("calls");
  e.counters.replies = f.number("replies");
  e.counters.errors = f.number("errors");
  e.counters.chunk_bytes = f.numbers<3>("chunk_bytes");
  if (const json* const latency = f.find("latency")) {
    Fields l(*latency, where + "latency.", error);
    e.latency = latency_from_json(l);
    e.latency_epoch = l.number("epoch");
  }
  e.events = f.number("events");
  e.events_lost = f.number("events_lost");
  e.faults = f.number("faults");
  e.findings = f.numbers<3>("findings");
  if (const json* const recordings = f.list("recordings", kMostRecordings)) {
    for (const json& one : *recordings) {
      Fields r(one, where + "recordings.", error);
      RecordingSummary recording;
      recording.file = r.text("file", kMostText);
      recording.bytes = r.number("bytes");
      recording.on_demand = r.flag("on_demand");
      e.recordings.push_back(std::move(recording));
    }
  }
  return e;
}

json header_json(const Summary& s) {
  return {{"schema", kSchema},
          {"host", bounded_text(s.host, kMostName)},
          {"boot", bounded_text(s.boot, kMostId)},
          {"instance", bounded_text(s.instance, kMostId)},
          {"version", bounded_text(s.version, kMostId)},
          {"process", s.process},
          {"sequence", s.sequence},
          {"wall_ns", s.wall_ns},
          {"monotonic_ns", s.monotonic_ns},
          {"interval_ns", s.interval_ns},
          {"goodbye", s.goodbye},
          {"agent",
           {{"reconnects", s.agent.reconnects},
            {"states_dropped", s.agent.states_dropped},
            {"findings_dropped", s.agent.findings_dropped},
            {"endpoints_unread", s.agent.endpoints_unread}}}};
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

constexpr const char* kOtherSchema = "schema version ";

// Returns an object of this schema version.
base::Expected<json> parsed(std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return base::fail(fmt::format("{} bytes, more than {}", text.size(), most));
  }
  json object = json::parse(text, nullptr, false);
  if (object.is_discarded() || !object.is_object()) return base::fail("not a JSON object");
  const auto schema = object.find("schema");
  if (schema == object.end() || !schema->is_number_unsigned()) {
    return base::fail("schema: missing, or not a number");
  }
  if (*schema != kSchema) {
    const auto version = object.find("version");
    const bool named = version != object.end() && version->is_string() &&
                       version->get_ref<const std::string&>().size() <= kMostId;
    return base::fail(
        fmt::format("{}{}{}; this program reads {}", kOtherSchema, schema->get<std::uint64_t>(),
                    named ? " of agent version " + version->get<std::string>() : "", kSchema));
  }
  return object;
}

}  // namespace

std::string to_json(const Summary& summary) {
  json object = header_json(summary);
  // The length of the list is counted, since the whole must not exceed its limit.
  std::size_t length = dumped(object).size() + 128;
  std::string list;
  std::uint64_t included = 0;
  for (const EndpointSummary& e : summary.endpoints) {
    if (included == kMostEndpoints) break;
    const std::string one = dumped(endpoint_json(e));
    if (length + one.size() + 1 > kMostSummaryBytes) break;
    length += one.size() + 1;
    if (included++ != 0) list += ',';
    list += one;
  }
  object["endpoints_left_out"] = summary.endpoints_left_out + (summary.endpoints.size() - included);
  std::string text = dumped(object);
  text.back() = ',';
  return text + "\"endpoints\":[" + list + "]}";
}

std::string to_json(const FindingNote& n) {
  return dumped({{"schema", kSchema},
                 {"host", bounded_text(n.host, kMostName)},
                 {"instance", bounded_text(n.instance, kMostId)},
                 {"sequence", n.sequence},
                 {"wall_ns", n.wall_ns},
                 {"endpoint", bounded_text(n.endpoint, kMostName)},
                 {"process", n.process},
                 {"generation", n.generation},
                 {"kind", n.kind},
                 {"severity", bounded_text(n.severity, kMostId)},
                 {"rule", bounded_text(n.rule, kMostName)},
                 {"local", bounded_text(n.local, kMostName)},
                 {"peer", bounded_text(n.peer, kMostName)},
                 {"at_fault", bounded_text(n.at_fault, kMostName)},
                 {"count", n.count},
                 {"text", bounded_text(n.text, kMostText)},
                 {"advice", bounded_text(n.advice, kMostText)}});
}

base::Expected<Summary> summary_from_json(std::string_view text) {
  const auto object = parsed(text, kMostSummaryBytes);
  if (!object) return tl::unexpected(object.error());
  std::string error;
  Fields f(*object, {}, error);
  Summary s;
  s.host = f.text("host", kMostName);
  s.boot = f.text("boot", kMostId);
  s.instance = f.text("instance", kMostId);
  s.version = f.text("version", kMostId);
  s.process = f.small("process");
  s.sequence = f.number("sequence");
  s.wall_ns = f.time("wall_ns");
  s.monotonic_ns = f.time("monotonic_ns");
  s.interval_ns = f.time("interval_ns");
  s.goodbye = f.flag("goodbye");
  if (const json* const agent = f.find("agent")) {
    Fields a(*agent, "agent.", error);
    s.agent.reconnects = a.number("reconnects");
    s.agent.states_dropped = a.number("states_dropped");
    s.agent.findings_dropped = a.number("findings_dropped");
    s.agent.endpoints_unread = a.number("endpoints_unread");
  }
  s.endpoints_left_out = f.number("endpoints_left_out");
  if (const json* const endpoints = f.list("endpoints", kMostEndpoints)) {
    std::set<std::uint64_t> generations;
    for (std::size_t i = 0; i < endpoints->size() && error.empty(); ++i) {
      const std::string where = fmt::format("endpoints[{}].", i);
      Fields e((*endpoints)[i], where, error);
      s.endpoints.push_back(endpoint_from(e, where, error));
      if (!generations.insert(s.endpoints.back().generation).second) {
        e.fail("generation", "another endpoint has it");
      }
    }
  }
  if (s.host.empty()) f.fail("host", "empty");
  if (!error.empty()) return base::fail(std::move(error));
  return s;
}

base::Expected<FindingNote> finding_from_json(std::string_view text) {
  const auto object = parsed(text, kMostFindingBytes);
  if (!object) return tl::unexpected(object.error());
  std::string error;
  Fields f(*object, {}, error);
  FindingNote n;
  n.host = f.text("host", kMostName);
  n.instance = f.text("instance", kMostId);
  n.sequence = f.number("sequence");
  n.wall_ns = f.time("wall_ns");
  n.endpoint = f.text("endpoint", kMostName);
  n.process = f.small("process");
  n.generation = f.number("generation");
  n.kind = f.number("kind");
  n.severity = f.text("severity", kMostId);
  n.rule = f.text("rule", kMostName);
  n.local = f.text("local", kMostName);
  n.peer = f.text("peer", kMostName);
  n.at_fault = f.text("at_fault", kMostName);
  n.count = f.number("count");
  n.text = f.text("text", kMostText);
  n.advice = f.text("advice", kMostText);
  if (n.host.empty()) f.fail("host", "empty");
  if (n.severity != "error" && n.severity != "warning" && n.severity != "note") {
    f.fail("severity", "not a known word");
  }
  if (!error.empty()) return base::fail(std::move(error));
  return n;
}

bool is_other_schema(const base::Error& error) {
  return error.message.starts_with(kOtherSchema);
}

}  // namespace rpcrdma::fleet
