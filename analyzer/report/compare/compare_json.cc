// Writes a comparison as JSON (docs/json.md).
#include "../text/plain_values.h"

#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/report/compare.h>
#include <rpcrdma/report/json_writer.h>

namespace rpcrdma::report {

namespace {

template <typename T>
void pair(JsonWriter& json, const char* key, const BeforeAfter<T>& values) {
  json.object(key);
  json.field("before", values[kBefore]);
  json.field("after", values[kAfter]);
  json.end();
}

void capture(JsonWriter& json, const char* key, const std::string& name, const CaptureSummary& c) {
  json.object(key);
  json.field("name", decode::valid_utf8(name));
  json.field("first_time_ns", c.first_ns);
  json.field("last_time_ns", c.last_ns);
  json.end();
}

void quantile(JsonWriter& json, const QuantileChange& q) {
  json.object();
  json.field("quantile", q.q);
  json.field("before_us", microseconds(q.before));
  json.field("after_us", microseconds(q.after));
  json.field("ratio", q.ratio);
  json.optional("ratio_low", q.range.has_value(), q.range.value_or(Interval{}).low);
  json.optional("ratio_high", q.range.has_value(), q.range.value_or(Interval{}).high);
  json.end();
}

void procedure(JsonWriter& json, const ProcedureChange& p) {
  json.object();
  json.field("name", p.label);
  json.field("direction", direction_name(p.key.reverse));
  const bool known = p.key.known();
  json.optional("program", known, p.key.program);
  json.optional("version", known, p.key.version);
  json.optional("procedure", known, p.key.procedure);
  json.optional("operation", known && p.key.operation != UINT32_MAX, p.key.operation);
  json.field("judgement", judgement_name(p.judgement));
  pair(json, "calls", p.calls);
  pair(json, "answered", p.answered);
  pair(json, "failed", p.failed);
  pair(json, "unanswered", p.unanswered);
  json.object("dependence");
  for (const std::size_t i : {kBefore, kAfter}) {
    json.optional(i == kBefore ? "before" : "after", p.effect[i].has_value(),
                  p.effect[i].value_or(1));
  }
  json.end();
  if (p.test) {
    json.object("rank_sum");
    json.field("u", p.test->u);
    json.field("z", p.test->z);
    json.field("p", p.test->p);
    json.field("p_corrected", p.p);
    json.field("superiority", p.test->superiority);
    json.end();
  } else {
    json.null("rank_sum");
  }
  json.array("quantiles");
  for (const QuantileChange& q : p.quantiles) quantile(json, q);
  json.end();
  json.end();
}

void sum(JsonWriter& json, const SumChange& s) {
  json.object();
  json.field("name", s.key);
  for (const std::size_t i : {kBefore, kAfter}) {
    json.optional(i == kBefore ? "before" : "after", s.value[i].has_value(),
                  s.value[i].value_or(0));
  }
  json.optional("p", s.p.has_value(), s.p.value_or(0));
  json.field("judgement", s.judgement == Judgement::kSlower   ? "more"
                          : s.judgement == Judgement::kFaster ? "fewer"
                                                              : "same");
  json.end();
}

void finding(JsonWriter& json, const FindingChange& f) {
  json.object();
  json.field("change", finding_change_name(f.kind));
  json.field("rule", f.rule);
  json.field("severity", rules::severity_name(f.severity));
  json.optional("role", !f.role.empty(), f.role);
  json.field("before", f.count[kBefore]);
  json.field("after", f.count[kAfter]);
  json.field("p", f.p);
  json.field("text", f.text);
  json.end();
}

void texts(JsonWriter& json, const char* key, const std::vector<std::string>& list) {
  json.array(key);
  for (const std::string& text : list) json.value(text);
  json.end();
}

}  // namespace

std::string comparison_json(const Comparison& c, const CompareNames& names) {
  JsonWriter json;
  json.object();
  json.field("schema", "rpcrdma-comparison-1");
  json.field("outcome", outcome_name(c.outcome));
  json.field("verdict", c.verdict);
  capture(json, "before", names[kBefore], c.capture[kBefore]);
  capture(json, "after", names[kAfter], c.capture[kAfter]);
  json.field("margin", c.margin);
  json.field("significance", kSignificance);
  json.field("interval_z", c.z);
  texts(json, "notes", c.notes);
  json.array("procedures");
  for (const ProcedureChange& p : c.procedures) procedure(json, p);
  json.end();
  json.array("sums");
  for (const SumChange& s : c.sums) sum(json, s);
  json.end();
  json.array("findings");
  for (const FindingChange& f : c.findings) finding(json, f);
  json.end();
  texts(json, "failed", c.failed);
  texts(json, "not_judged", c.not_judged);
  json.end();
  return json.take();
}

}  // namespace rpcrdma::report
