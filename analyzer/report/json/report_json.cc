// Writes a report as JSON. report_fields.h lists the fields. Two threads can share a long report.
#include "capture_quality.h"
#include "json/ends_json.h"
#include "report_fields.h"

#include <algorithm>
#include <future>
#include <string>
#include <string_view>
#include <system_error>

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {

namespace {

void gap(JsonWriter& json, const char* key, const rules::CaptureGaps::Gap& g) {
  json.object(key);
  json.field("amount", g.amount);
  json.field("connections", g.connections);
  json.array("ids");
  for (const std::uint32_t id : g.connection) json.value(id);
  json.end();
  json.end();
}

void inconclusive(JsonWriter& json, const std::vector<InconclusiveGroup>& groups) {
  json.array("inconclusive");
  for (const InconclusiveGroup& g : groups) {
    json.object();
    json.field("reason", g.reason);
    json.field("count", g.count);
    json.array("rules");
    for (const std::string_view rule : g.rules) json.value(rule);
    json.end();
    json.array("ids");
    for (const std::uint32_t id : g.connections) json.value(id);
    json.end();
    json.end();
  }
  json.end();
}

// Writes the capture quality, which follows from the other fields and is not read back.
void capture_quality(JsonWriter& json, const Report& r) {
  const CaptureQuality q = capture_quality_of(r);
  json.object("capture_quality");
  json.field("complete", q.complete);
  json.field("damaged", q.damaged);
  json.field("dropped", r.capture.dropped);
  json.field("not_listed", r.not_listed.connections);
  json.field("icrc", icrc_seen_name(q.icrc));
  gap(json, "lost", q.gaps.lost);
  gap(json, "truncated", q.gaps.cut_short);
  gap(json, "one_direction", q.gaps.one_sided);
  gap(json, "set_up_only", q.gaps.silent);
  gap(json, "clock_steps_back", q.gaps.clock_steps_back);
  gap(json, "mid_stream_start", q.gaps.begun_before);
  gap(json, "events_lost", q.gaps.events_lost);
  gap(json, "operations_unseen", q.gaps.operations_unseen);
  gap(json, "joined", q.joined);
  gap(json, "not_sampled", q.not_sampled);
  inconclusive(json, q.inconclusive);
  json.end();
}

void text_or_null(JsonWriter& json, const char* key, const std::string& text) {
  json.optional(key, !text.empty(), text);
}

void verdict_numbers(JsonWriter& json, const VerdictNumbers& n) {
  json.object("numbers");
  json.field("calls", n.calls);
  json.field("unanswered", n.unanswered);
  json.field("slow", n.slow);
  json.field("retransmitted", n.retransmitted);
  json.array("procedures");
  for (const VerdictProcedure& p : n.procedures) {
    json.object();
    json.field("procedure", p.name);
    json.field("calls", p.calls);
    json.field("p50_ns", p.p50_ns);
    json.field("p99_ns", p.p99_ns);
    json.field("max_ns", p.max_ns);
    json.optional("responder_percent", p.responder_percent.has_value(),
                  p.responder_percent.value_or(0));
    json.end();
  }
  json.end();
  if (n.resends) {
    json.object("most_retransmissions");
    text_or_null(json, "role", n.resends->role);
    json.field("address", n.resends->address);
    json.field("retransmitted", n.resends->retransmitted);
    json.field("packets", n.resends->packets);
    json.field("percent", n.resends->percent());
    json.end();
  } else {
    json.null("most_retransmissions");
  }
  json.field("longest_silence_ns", n.longest_silence_ns);
  json.field("outages", n.outages);
  json.field("longest_outage_ns", n.longest_outage_ns);
  json.end();
}

// Writes the verdict, which follows from the other fields and is not read back.
void write_verdict(JsonWriter& json, const Report& r) {
  const Verdict v = verdict(r);
  json.object("verdict");
  json.field("kind", verdict_kind(v));
  if (v.side.empty()) {
    json.null("side");
  } else {
    json.object("side");
    text_or_null(json, "role", v.role);
    json.field("address", v.side);
    json.end();
  }
  json.field("text", v.sentence());
  verdict_numbers(json, v.numbers);
  json.array("evidence");
  for (const std::size_t i : v.evidence) {
    const Finding& f = r.findings[i];
    json.object();
    json.field("rule", f.rule);
    json.field("severity", rules::severity_name(f.severity));
    json.optional("connection", f.connection != 0, f.connection);
    json.array("frames");
    for (const std::uint64_t frame : f.frames) json.value(frame);
    json.end();
    json.end();
  }
  json.end();
  json.end();
}

void connections(FieldWriter& a, const Report& r, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) a.element(r.connections[i]);
}

// Returns the rest of the report from connection `from` on; a connection precedes it in the list.
std::string back(const Report& r, std::size_t from) {
  constexpr std::string_view kOpening = "{\"connections\":[";  // written before
  std::string text;
  const Write keep = [&](std::string_view piece) { text += piece; };
  JsonWriter json;
  FieldWriter a(json, !r.filter.empty(), &keep);
  json.object();
  json.array("connections");
  connections(a, r, from, r.connections.size());
  json.end();
  fields_after_connections(a, r);
  if (r.ends) write_ends(json, *r.ends);
  json.end();
  text += json.take();
  text.erase(0, kOpening.size() - 1);
  text.front() = ',';
  return text;
}

// A report with fewer connections is written before a thread has started.
constexpr std::size_t kConnectionsWorthAThread = 256;

}  // namespace

void write_json(const Report& r, const Write& write, unsigned threads) {
  const std::size_t all = r.connections.size();
  // The rest of a report takes as long as about this many connections.
  constexpr std::size_t kRest = 1024;
  const std::size_t half = std::min(all - all / 8, (all + kRest) / 2);
  std::future<std::string> second;
  if (threads > 1 && all >= kConnectionsWorthAThread) {
    try {
      second = std::async(std::launch::async, [&] { return back(r, half); });
    } catch (const std::system_error&) {
      // No thread is available, so this one writes everything.
    }
  }
  JsonWriter json;
  FieldWriter a(json, !r.filter.empty(), &write);
  json.object();
  json.field("schema", kSchema);
  write_verdict(json, r);
  fields_before_connections(a, r, [&](FieldWriter&) { capture_quality(json, r); });
  json.array("connections");
  if (second.valid()) {
    connections(a, r, 0, half);
    json.drain(write);
    write(second.get());
    return;
  }
  connections(a, r, 0, all);
  json.end();
  fields_after_connections(a, r);
  if (r.ends) write_ends(json, *r.ends);
  json.end();
  write(json.take());
}

}  // namespace rpcrdma::report
