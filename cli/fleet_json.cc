#include "fleet_json.h"

#include <nlohmann/json.hpp>

#include <rpcrdma/decode/utf8.h>

namespace rpcrdma::cli {

namespace {

using json = nlohmann::ordered_json;
using decode::valid_utf8;

json nanoseconds(std::int64_t ns) {
  return ns < 0 ? json(nullptr) : json(ns);
}

json of(const fleet::CreditSums& c) {
  return {{"requested", c.requested},
          {"granted", c.granted},
          {"in_use", c.in_use},
          {"waiting", c.waiting}};
}

json of(const std::optional<fleet::ViewRates>& r) {
  if (!r) return nullptr;
  return {{"calls", r->calls},
          {"errors", r->errors},
          {"read_bytes", r->read_bytes},
          {"write_bytes", r->write_bytes},
          {"reply_bytes", r->reply_bytes}};
}

json of(const fleet::ViewLatency& l) {
  return {{"calls", l.calls},
          {"p50_ns", nanoseconds(l.p50_ns)},
          {"p99_ns", nanoseconds(l.p99_ns)},
          {"p999_ns", nanoseconds(l.p999_ns)},
          {"max_ns", nanoseconds(l.max_ns)}};
}

json of(const fleet::ViewFindings& f) {
  return {{"errors", f.errors}, {"warnings", f.warnings}, {"notes", f.notes}};
}

// What hosts, endpoints and the whole have in common.
template <typename State>
void add_measured(json& to, const State& s) {
  to["connections"] = s.connections;
  to["credits"] = of(s.credits);
  to["per_second"] = of(s.rates);
  to["latency"] = of(s.latency);
  to["findings"] = of(s.findings);
}

const char* end_word(fleet::EndpointEnd end) {
  switch (end) {
    case fleet::EndpointEnd::kClosed:
      return "closed";
    case fleet::EndpointEnd::kKilled:
      return "killed";
    case fleet::EndpointEnd::kRefused:
      return "refused";
    case fleet::EndpointEnd::kNone:
      break;
  }
  return nullptr;
}

json of(const fleet::EndpointState& e) {
  json to;
  to["name"] = valid_utf8(e.name);
  to["role"] = valid_utf8(e.role);
  to["user"] = valid_utf8(e.user);
  to["process"] = e.process;
  to["source"] = e.source == fleet::Source::kKernel ? "kernel" : "endpoint";
  to["since_ns"] = e.since_ns;
  const char* const end = end_word(e.end);
  to["end"] = end == nullptr ? json(nullptr) : json(end);
  if (!e.why.empty()) to["why"] = valid_utf8(e.why);
  add_measured(to, e);
  to["calls"] = e.counters.calls;
  to["replies"] = e.counters.replies;
  to["errors"] = e.counters.errors;
  to["events_lost"] = e.events_lost;
  to["recordings"] = json::array();
  for (const fleet::RecordingSummary& r : e.recordings) {
    to["recordings"].push_back(
        {{"file", valid_utf8(r.file)}, {"bytes", r.bytes}, {"on_demand", r.on_demand}});
  }
  return to;
}

const char* presence_word(fleet::HostPresence presence) {
  switch (presence) {
    case fleet::HostPresence::kSilent:
      return "silent";
    case fleet::HostPresence::kLeft:
      return "left";
    case fleet::HostPresence::kHere:
      break;
  }
  return "here";
}

json of(const fleet::HostState& h) {
  json to;
  to["name"] = valid_utf8(h.name);
  to["fresh"] = h.fresh;
  to["presence"] = presence_word(h.presence);
  to["age_ns"] = h.age_ns;
  to["sent_ns"] = h.heard_wall_ns;
  to["version"] = valid_utf8(h.version);
  to["problem"] = h.problem.empty() ? json(nullptr) : json(valid_utf8(h.problem));
  to["summaries"] = {
      {"received", h.received}, {"lost", h.lost}, {"late", h.late}, {"repeated", h.repeated}};
  to["restarts"] = h.restarts;
  to["agents"] = h.agents;
  to["clock_off_ns"] = h.clock_off_ns;
  to["clock_off"] = h.clock_off;
  to["agent"] = {{"reconnects", h.agent.reconnects},
                 {"states_dropped", h.agent.states_dropped},
                 {"findings_dropped", h.agent.findings_dropped},
                 {"endpoints_unread", h.agent.endpoints_unread}};
  to["endpoints_left_out"] = h.endpoints_left_out;
  to["running"] = h.running;
  to["recordings"] = h.recordings;
  add_measured(to, h);
  to["endpoints"] = json::array();
  for (const fleet::EndpointState& e : h.endpoints) to["endpoints"].push_back(of(e));
  return to;
}

json of(const top::FleetFinding& f) {
  return {{"time_ns", f.wall_ns},
          {"host", valid_utf8(f.host)},
          {"endpoint", valid_utf8(f.endpoint)},
          {"severity", rules::severity_name(f.severity)},
          {"rule", f.rule.empty() ? json(nullptr) : json(valid_utf8(f.rule))},
          {"at_fault", f.peer.empty() ? json(nullptr) : json(valid_utf8(f.peer))},
          {"count", f.count},
          {"text", valid_utf8(f.text)},
          {"advice", valid_utf8(f.advice)}};
}

const char* event_word(fleet::ViewEvent::Kind kind) {
  switch (kind) {
    case fleet::ViewEvent::Kind::kGood:
      return "good";
    case fleet::ViewEvent::Kind::kBad:
      return "bad";
    case fleet::ViewEvent::Kind::kNote:
      break;
  }
  return "note";
}

// Escapes all non-ASCII characters as \uNNNN.
std::string line(const json& value) {
  return value.dump(-1, ' ', true);
}

}  // namespace

std::string fleet_json(const top::FleetShown& shown) {
  const fleet::FleetState& f = shown.state;
  const fleet::FleetTotals& t = f.totals;
  json to;
  to["time_ns"] = f.wall_ns;
  to["server"] = valid_utf8(shown.server);
  to["connected"] = f.connected;
  to["why"] = f.connected ? json(nullptr) : json(valid_utf8(f.bus));
  json totals;
  totals["hosts"] = {{"fresh", t.hosts}, {"old", t.old_hosts}, {"left", t.left_hosts}};
  totals["endpoints"] = t.endpoints;
  totals["recordings"] = t.recordings;
  add_measured(totals, t);
  totals["summaries"] = {
      {"received", t.received}, {"lost", t.lost}, {"late", t.late}, {"repeated", t.repeated}};
  to["totals"] = totals;
  const fleet::ViewRefusals& r = f.refused;
  to["refused"] = {{"malformed", r.malformed},
                   {"other_schema", r.other_schema},
                   {"wrong_host", r.wrong_host},
                   {"hosts", r.hosts},
                   {"histograms", r.histograms},
                   {"undelivered", r.undelivered},
                   {"findings", shown.findings_refused},
                   {"latest", r.latest.empty() ? json(nullptr) : json(valid_utf8(r.latest))}};
  to["forgotten"] = f.forgotten;
  to["hosts"] = json::array();
  for (const fleet::HostState& h : f.hosts) to["hosts"].push_back(of(h));
  to["events"] = json::array();
  for (const fleet::ViewEvent& e : f.events) {
    to["events"].push_back({{"time_ns", e.wall_ns},
                            {"kind", event_word(e.kind)},
                            {"host", e.host.empty() ? json(nullptr) : json(valid_utf8(e.host))},
                            {"text", valid_utf8(e.text)},
                            {"count", e.count}});
  }
  to["events_dropped"] = f.events_dropped;
  to["findings"] = json::array();
  for (const top::FleetFinding& finding : shown.findings) to["findings"].push_back(of(finding));
  to["findings_dropped"] = shown.findings_dropped;
  return line(to);
}

std::string host_json(const fleet::HostState& host) {
  return line(of(host));
}

std::string finding_json(const top::FleetFinding& finding) {
  return line(of(finding));
}

}  // namespace rpcrdma::cli
