#include "histogram_json.h"
#include "reconnects_json.h"
#include "recording_json.h"
#include "text/plain_values.h"
#include "trust.h"

#include <algorithm>
#include <future>
#include <string>
#include <string_view>
#include <system_error>

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::report {

namespace {

double seconds(std::int64_t from, std::int64_t to) {
  // As integers first: a double has no nanoseconds since 1970. Files may have any times at all.
  const auto ns = static_cast<std::uint64_t>(std::max(from, to)) -
                  static_cast<std::uint64_t>(std::min(from, to));
  return (to < from ? -1 : 1) * static_cast<double>(ns) / 1e9;
}

void ledger(JsonWriter& json, const char* key, const Direction& d) {
  json.object(key);
  json.field("requested", d.requested);
  json.field("granted", d.granted);
  json.field("in_use_max", d.in_use_max);
  json.field("requested_max", d.requested_max);
  json.field("granted_min", d.granted_min);
  json.field("granted_max", d.granted_max);
  json.end();
}

void counters(JsonWriter& json, const EndPoint& e) {
  const roce::SideCounters& c = e.counters;
  json.object("counters");
  json.field("packets", c.packets);
  json.field("payload_bytes", c.payload_bytes);
  json.optional("retransmitted", !e.resends_unseen, c.retransmitted);
  json.field("captured_twice", c.captured_twice);
  json.field("reordered", c.reordered);
  json.field("lost_network", c.lost_network);
  json.field("lost_capture", c.lost_capture);
  json.field("reads_unseen", c.reads_unseen);
  json.field("acknowledged_unseen", c.acknowledged_unseen);
  json.field("acks", c.acks);
  json.object("naks");
  for (std::size_t i = 0; i < c.naks.size(); ++i) {
    if (c.naks[i] != 0) json.field(wire::nak_name(static_cast<std::uint8_t>(i)), c.naks[i]);
  }
  json.end();
  json.field("rnr", c.rnr);
  json.field("illegal_sequence", c.illegal_sequence);
  json.field("orphans", c.orphans);
  json.end();
}

void end_point(JsonWriter& json, const char* key, const EndPoint& e) {
  json.object(key);
  json.field("address", e.address);
  json.optional("qpn", e.qpn.has_value(), e.qpn.value_or(0));
  if (e.cm_seen) {
    json.object("cm");
    json.field("frame", e.cm_frame);
    json.field("responder_resources", e.responder_resources);
    json.field("initiator_depth", e.initiator_depth);
    json.optional("rnr_retry_count", e.rnr_retry_count.has_value(), e.rnr_retry_count.value_or(0));
    json.end();
  }
  if (e.private_data) {
    json.object("private_data");
    json.field("version", e.private_data->version);
    json.field("remote_invalidation", e.private_data->remote_invalidation);
    json.field("send_size", e.private_data->send_size);
    json.field("receive_size", e.private_data->receive_size);
    json.end();
  } else {
    json.null("private_data");
  }
  counters(json, e);
  json.end();
}

void counts(JsonWriter& json, const char* key, const Direction& d) {
  json.object(key);
  json.field("calls", d.calls);
  json.field("replies", d.replies);
  json.field("errors", d.errors);
  json.field("unmatched_calls", d.unmatched_calls);
  json.field("unmatched_replies", d.unmatched_replies);
  json.end();
}

void unlisted(JsonWriter& json, const Unlisted& u) {
  json.object("unlisted");
  json.field("connections", u.connections);
  json.field("packets", u.packets);
  json.field("messages", u.messages);
  json.field("chunk_bytes", u.chunk_bytes);
  counts(json, "forward", u.direction[0]);
  counts(json, "reverse", u.direction[1]);
  json.end();
}

void connection(JsonWriter& json, const Connection& c) {
  const Direction& forward = c.direction[0];
  const Direction& reverse = c.direction[1];
  json.object();
  json.field("id", c.id);
  json.field("protocol", protocol_name(c.speaks));
  end_point(json, "client", c.side[0]);
  end_point(json, "server", c.side[1]);
  json.field("roles", roles_name(c.roles));
  json.field("setup", c.by_cm ? "cm" : "inferred");
  json.field("recorded", c.recorded);
  json.field("events_lost", c.events_lost);
  json.field("operations_unseen", c.operations_unseen);
  json.field("joined", c.joined);
  json.field("state", state_name(c.state));
  if (c.state == roce::State::kRejected) json.field("reject_reason", c.reject_reason);
  if (c.closed_by >= 0) {
    json.field("closed_by", c.closed_by == 0 ? "client" : "server");
    json.field("closed_frame", c.closed_frame);
  }
  json.optional("service_id", c.by_cm, c.service_id);
  json.optional("port", c.by_cm && wire::is_rdma_ip_service(c.service_id),
                wire::service_port(c.service_id));
  json.optional("path_mtu", c.path_mtu != 0, c.path_mtu);
  json.optional("version", c.version != 0, c.version);
  if (!c.dialect.name.empty()) {
    json.object("dialect");
    json.field("name", c.dialect.name);
    json.optional("frame", c.dialect.frame != 0, c.dialect.frame);
    json.field("reason", c.dialect.reason);
    json.end();
  }
  json.field("sends", c.sends);
  json.field("messages", c.messages);
  json.field("calls", forward.calls + reverse.calls);
  json.field("replies", forward.replies + forward.unmatched_replies + reverse.replies +
                            reverse.unmatched_replies);
  json.field("unmatched", forward.unmatched_calls + forward.unmatched_replies +
                              reverse.unmatched_calls + reverse.unmatched_replies);
  json.field("errors", forward.errors + reverse.errors);
  json.field("malformed", c.malformed);
  json.field("cut_short", c.cut_short);
  json.field("clock_stepped_back", c.clock_stepped_back);
  counts(json, "forward", forward);
  counts(json, "reverse", reverse);
  json.object("credits");
  ledger(json, "forward", forward);
  ledger(json, "reverse", reverse);
  json.end();
  json.object("thresholds");
  json.field("call", c.thresholds.call);
  json.field("reply", c.thresholds.reply);
  json.end();
  json.object("chunks");
  for (std::size_t list = 0; list < c.chunks.size(); ++list) {
    json.object(model::chunk_list_name(static_cast<model::ChunkList>(list)));
    json.field("chunks", c.chunks[list]);
    json.field("bytes", c.chunk_bytes[list]);
    json.end();
  }
  json.end();
  json.field("inline_bytes", c.inline_bytes);
  json.field("stray_operations", c.unmatched_operations);
  json.object("icrc");
  json.field("good", c.icrc_good);
  json.field("bad", c.icrc_bad);
  json.end();
  json.field("first_frame", c.first_frame);
  json.field("last_frame", c.last_frame);
  json.field("first_time_ns", c.first_ns);
  json.field("last_time_ns", c.last_ns);
  json.field("seconds", seconds(c.first_ns, c.last_ns));
  json.end();
}

void packets(JsonWriter& json, const CaptureSummary& c) {
  const roce::PacketStats& p = c.packets;
  json.object("packets");
  json.field("total", c.frames);
  json.field("events", c.events);
  json.field("roce", p.roce);
  json.field("icrc_good", p.icrc_good);
  json.field("icrc_bad", p.icrc_bad);
  json.field("icrc_unchecked", p.icrc_unchecked);
  json.field("glued", p.coalesced);
  json.field("retransmitted", p.retransmitted);
  json.field("captured_twice", p.captured_twice);
  json.field("reordered", p.reordered);
  json.field("lost_network", p.lost_network);
  json.field("lost_capture", p.lost_capture);
  json.field("nak", p.nak);
  json.field("rnr", p.rnr);
  json.field("cm", p.cm);
  json.field("other_service", p.other_service);
  json.field("malformed", p.malformed);
  json.field("cut_short", c.cut_short + p.icrc_unchecked);
  json.field("fragments", c.fragments);
  json.field("unknown_link", c.unknown_link);
  json.array("unread");
  for (const auto& [name, frames] : c.unread) {
    json.object();
    json.field("name", name);
    json.field("frames", frames);
    json.end();
  }
  json.end();
  json.end();
}

void capture(JsonWriter& json, const CaptureSummary& c) {
  json.object("capture");
  json.field("files", c.files);
  json.field("seconds", seconds(c.first_ns, c.last_ns));
  json.field("first_time_ns", c.first_ns);
  json.field("last_time_ns", c.last_ns);
  json.field("dropped", c.dropped);
  json.field("cut_short", c.file_cut_short);
  json.optional("damage", !c.damage.empty(), c.damage);
  json.field("clock_steps_back", c.clock_steps_back);
  json.end();
}

void gap(JsonWriter& json, const char* key, const rules::Trust::Gap& g) {
  json.object(key);
  json.field("amount", g.amount);
  json.field("connections", g.connections);
  json.array("ids");
  for (const std::uint32_t id : g.connection) json.value(id);
  json.end();
  json.end();
}

void trust(JsonWriter& json, const Report& r) {
  const ReportTrust t = trust_of(r);
  json.object("trust");
  json.field("complete", t.complete);
  json.field("damaged", t.damaged);
  json.field("dropped", r.capture.dropped);
  json.field("unlisted", r.unlisted.connections);
  json.field("icrc", icrc_seen_name(t.icrc));
  gap(json, "lost", t.gaps.lost);
  gap(json, "cut_short", t.gaps.cut_short);
  gap(json, "one_direction", t.gaps.one_sided);
  gap(json, "clock_steps_back", t.gaps.clock_steps_back);
  gap(json, "begun_before", t.gaps.begun_before);
  gap(json, "events_lost", t.gaps.events_lost);
  gap(json, "operations_unseen", t.gaps.operations_unseen);
  gap(json, "joined", t.joined);
  json.array("withheld");
  for (const InconclusiveGroup& g : t.inconclusive) {
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
  json.end();
}

void messages(JsonWriter& json, const MessageCounts& m) {
  json.object("messages");
  for (std::size_t i = 0; i < m.kinds.size(); ++i) {
    json.field(model::kind_name(static_cast<model::Kind>(i)), m.kinds[i]);
  }
  json.object("types");
  for (const auto& [name, count] : m.types) json.field(name.c_str(), count);
  json.end();
  json.end();
}

void key(JsonWriter& json, const ProcedureKey& k) {
  json.field("direction", direction_name(k.reverse));
  json.optional("program", k.known(), k.program);
  json.optional("version", k.known(), k.version);
  json.optional("procedure", k.known(), k.procedure);
  json.optional("operation", k.known() && k.operation != UINT32_MAX, k.operation);
  json.field("others", k == ProcedureKey::others(k.reverse));
}

void slow_calls(JsonWriter& json, const char* name, const SlowCalls& calls) {
  json.array(name);
  for (const SlowCall& s : calls.list()) {
    json.object();
    json.field("latency_us", microseconds(s.latency_ns));
    json.field("latency_ns", s.latency_ns);
    json.field("frame", s.frame);
    json.field("reply_frame", s.reply_frame);
    json.field("time_ns", s.time_ns);
    json.field("xid", s.xid);
    json.field("connection", s.connection);
    json.field("direction", direction_name(s.reverse));
    json.field("name", s.label);
    if (s.data_ns >= 0) {
      json.object("parts_ns");
      json.field("call_to_first_operation", s.before_data_ns);
      json.field("operations", s.data_ns);
      json.field("last_operation_to_reply", s.after_data_ns);
      json.end();
    }
    json.end();
  }
  json.end();
}

void procedure(JsonWriter& json, const ProcedureKey& k, const Procedure& p) {
  json.object();
  json.field("name", p.label);
  key(json, k);
  json.field("calls", p.calls);
  json.field("replies", p.replies);
  json.field("errors", p.errors);
  json.field("unmatched", p.unmatched);
  json.object("bytes");
  for (std::size_t list = 0; list < p.bytes.size(); ++list) {
    json.field(model::chunk_list_name(static_cast<model::ChunkList>(list)), p.bytes[list]);
  }
  json.end();
  write_histogram(json, "latency_us", p.total);
  if (p.data.count() != 0) {
    json.object("parts_us");
    write_histogram(json, "call_to_first_operation", p.before_data);
    write_histogram(json, "operations", p.data);
    write_histogram(json, "last_operation_to_reply", p.after_data);
    json.end();
  }
  slow_calls(json, "slowest", p.slowest);
  json.end();
}

// Bins in which something happened, and the first and the last one.
template <typename Bin, typename Function>
void bins(JsonWriter& json, const Series<Bin>& series, Function&& write_bin) {
  json.field("shift", series.shift());
  json.array("bins");
  for (std::int64_t n = series.first(); n <= series.last(); ++n) {
    const Bin& bin = series.bin(n);
    if (bin == Bin{} && n != series.first() && n != series.last()) continue;
    write_bin(n, bin);
  }
  json.end();
}

void traffic(JsonWriter& json, const TrafficSeries& series) {
  json.object("traffic");
  bins(json, series, [&](std::int64_t n, const TrafficBin& b) {
    json.object();
    json.field("bin", n);
    json.field("time_ns", n * series.width_ns());
    json.field("calls", b.calls);
    json.field("replies", b.replies);
    json.field("errors", b.errors);
    json.field("read_bytes", b.read_bytes);
    json.field("write_bytes", b.write_bytes);
    json.field("inline_bytes", b.inline_bytes);
    json.field("retransmitted", b.retransmitted);
    json.field("nak", b.naks);
    json.field("rnr", b.rnrs);
    json.field("outstanding_max", b.outstanding_max);
    json.object("latency_ns");
    json.field("count", b.latency_count);
    json.field("sum", b.latency_sum);
    json.field("max", b.latency_max);
    json.array("log2");
    for (std::size_t i = 0; i < b.latency.size(); ++i) {
      if (b.latency[i] == 0) continue;
      json.array();
      json.value(i);
      json.value(b.latency[i]);
      json.end();
    }
    json.end();
    json.end();
    json.end();
  });
  json.end();
}

void credit_series(JsonWriter& json, const char* name, const CreditSeries& series) {
  json.object(name);
  bins(json, series, [&](std::int64_t n, const CreditBin& b) {
    json.array();
    json.value(n);
    json.value(b.requested_max);
    json.value(b.granted_min);
    json.value(b.granted_max);
    json.value(b.in_use_max);
    // All that was granted is zero, not nothing.
    if (b.granted && b.granted_max == 0) json.value(1);
    json.end();
  });
  json.end();
}

void edges(JsonWriter& json, const Edges& e, bool filtered) {
  json.object("edges");
  json.array("open_calls");
  for (const OpenCall& c : e.open_calls) {
    json.object();
    json.field("connection", c.connection);
    json.field("xid", c.xid);
    json.field("frame", c.frame);
    json.field("time_ns", c.time_ns);
    json.field("caller", c.reverse ? "server" : "client");
    if (filtered) json.field("counted", c.counted);
    json.object("procedure");
    key(json, c.procedure);
    json.end();
    json.end();
  }
  json.end();
  json.array("early_replies");
  for (const EarlyReply& r : e.early_replies) {
    json.object();
    json.field("connection", r.connection);
    json.field("xid", r.xid);
    json.field("frame", r.frame);
    json.field("time_ns", r.time_ns);
    json.field("caller", r.reverse ? "server" : "client");
    json.field("rdma_error", r.rdma_error);
    json.field("failed", r.failed);
    if (filtered) json.field("counted", r.counted);
    json.end();
  }
  json.end();
  json.field("omitted", e.omitted);
  json.end();
}

void finding(JsonWriter& json, const Finding& x) {
  json.object();
  json.field("rule", x.rule);
  json.field("severity", rules::severity_name(x.severity));
  json.optional("peer", !x.peer.empty(), x.peer);
  json.optional("role", !x.role.empty(), x.role);
  json.optional("connection", x.connection != 0, x.connection);
  json.array("frames");
  for (const std::uint64_t frame : x.frames) json.value(frame);
  json.end();
  json.array("spans");
  for (const rules::Span& span : x.spans) {
    json.object();
    json.field("since_ns", span.since_ns);
    json.optional("until_ns", span.until_ns != 0, span.until_ns);
    json.end();
  }
  json.end();
  json.field("count", x.count);
  json.optional("of", x.of != 0, x.of);
  json.field("topic", x.topic);
  json.field("text", x.text);
  json.field("advice", x.advice);
  json.field("concluded", x.concluded);
  json.end();
}

void findings(JsonWriter& json, const Report& r) {
  json.array("findings");
  for (const Finding& x : r.findings) finding(json, x);
  json.end();
  std::uint64_t all = 0;
  for (const std::uint64_t n : r.findings_omitted) all += n;
  json.field("findings_omitted", all);
  json.object("findings_omitted_by_severity");
  for (std::size_t i = 0; i < r.findings_omitted.size(); ++i) {
    json.field(rules::severity_name(static_cast<rules::Severity>(i)), r.findings_omitted[i]);
  }
  json.end();
  json.array("withheld");
  for (const Inconclusive& w : r.inconclusive) {
    json.object();
    json.field("rule", w.rule);
    json.field("connection", w.connection);
    json.field("count", w.count);
    json.field("reason", w.reason);
    json.field("concluded", w.concluded);
    json.end();
  }
  json.end();
}

void connections(JsonWriter& json, const Report& r, std::size_t from, std::size_t to,
                 const Write& write) {
  for (std::size_t i = from; i < to; ++i) {
    connection(json, r.connections[i]);
    json.drain(write);
  }
}

// Members of the report's object before the list of connections, and that list's key.
void front(JsonWriter& json, const Report& r) {
  json.field("schema", kSchema);
  json.field("profile", profile_name(r.profile));
  json.optional("filter", !r.filter.empty(), r.filter);
  packets(json, r.capture);
  capture(json, r.capture);
  trust(json, r);
  messages(json, r.messages);
  json.array("connections");
}

// Members behind it.
void rest(JsonWriter& json, const Report& r, const Write& write) {
  unlisted(json, r.unlisted);
  write_recording(json, r.recording);
  json.field("connection_ids", r.connection_ids);
  json.array("procedures");
  for (const auto& [k, p] : r.procedures) {
    procedure(json, k, p);
    json.drain(write);
  }
  json.end();
  slow_calls(json, "slowest", r.slowest);
  json.object("series");
  traffic(json, r.traffic);
  json.array("credits");
  for (const ConnectionCredits& c : r.credits) {
    json.object();
    json.field("connection", c.connection);
    credit_series(json, "forward", c.direction[0]);
    credit_series(json, "reverse", c.direction[1]);
    json.end();
    json.drain(write);
  }
  json.end();
  json.field("credits_omitted", r.credits_omitted);
  json.end();
  edges(json, r.edges, !r.filter.empty());
  write_reconnects(json, r.reconnects);
  findings(json, r);
}

// What lies behind the connections from `from` on, with these, as it goes on from an element
// before.
std::string back(const Report& r, std::size_t from) {
  constexpr std::string_view kOpening = "{\"connections\":[";  // is in the front already
  std::string text;
  const auto keep = [&](std::string_view piece) { text += piece; };
  JsonWriter json;
  json.object();
  json.array("connections");
  connections(json, r, from, r.connections.size(), keep);
  json.end();
  rest(json, r, keep);
  json.end();
  text += json.take();
  text.erase(0, kOpening.size() - 1);
  text.front() = ',';
  return text;
}

// A report of fewer connections is written before a thread has started.
constexpr std::size_t kConnectionsWorthAThread = 256;

}  // namespace

void write_json(const Report& r, const Write& write, unsigned threads) {
  const std::size_t all = r.connections.size();
  // All else together takes as long as some thousand connections.
  constexpr std::size_t kRest = 1024;
  const std::size_t half = std::min(all - all / 8, (all + kRest) / 2);
  std::future<std::string> ahead;
  if (threads > 1 && all >= kConnectionsWorthAThread) {
    try {
      ahead = std::async(std::launch::async, [&] { return back(r, half); });
    } catch (const std::system_error&) {
      // No more threads are to be had.
    }
  }
  JsonWriter json;
  json.object();
  front(json, r);
  if (ahead.valid()) {
    connections(json, r, 0, half, write);
    write(ahead.get());
    return;
  }
  connections(json, r, 0, all, write);
  json.end();
  rest(json, r, write);
  json.end();
  write(json.take());
}

}  // namespace rpcrdma::report
