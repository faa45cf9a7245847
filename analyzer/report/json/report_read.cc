// A report from JSON. Only what cannot be worked out from the rest is read: quantiles, for one,
// come from the buckets again.
#include "histogram_json.h"
#include "json_node.h"
#include "reconnects_json.h"
#include "recording_json.h"

#include <array>
#include <limits>

#include <fmt/core.h>
#include <rapidjson/error/en.h>

#include <rpcrdma/report/report_json.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::report {

namespace {

template <typename Enum, std::size_t N>
Enum name_of(const JsonNode& node, const char* (*name)(Enum)) {
  std::array<const char*, N> names{};
  for (std::size_t i = 0; i < N; ++i) names[i] = name(static_cast<Enum>(i));
  return static_cast<Enum>(node.one_of(names.data(), N));
}

bool reverse_direction(const JsonNode& node) {
  return node.second_of("forward", "reverse");
}

class Reader {
 public:
  explicit Reader(Report& report) : r_(report) {}

  void read(const JsonNode& top) {
    const char* const schemas[] = {kSchema};
    static_cast<void>(top.get("schema").one_of(schemas, 1));
    r_.profile = name_of<rules::Profile, 2>(top.get("profile"), profile_name);
    if (top.has("filter")) top.into("filter", r_.filter);
    top.into("connection_ids", r_.connection_ids);
    packets(top.get("packets"));
    capture(top.get("capture"));
    messages(top.get("messages"));
    top.get("connections").for_each([&](const JsonNode& n) { connection(n); });
    if (top.has("unlisted")) unlisted(top.get("unlisted"));
    if (top.has("recording")) read_recording(top.get("recording"), r_.recording);
    top.get("procedures").for_each([&](const JsonNode& n) { procedure(n); });
    slow_calls(top.get("slowest"), r_.slowest);
    const JsonNode series = top.get("series");
    traffic(series.get("traffic"));
    series.get("credits").for_each([&](const JsonNode& n) { credits(n); });
    series.into("credits_omitted", r_.credits_omitted);
    edges(top.get("edges"));
    if (top.has("reconnects")) {
      r_.reconnects = read_reconnects(top.get("reconnects"), r_.connection_ids);
    } else {
      r_.reconnects.complete = false;
    }
    findings(top);
  }

 private:
  void packets(const JsonNode& n) {
    CaptureSummary& c = r_.capture;
    roce::PacketStats& p = c.packets;
    n.into("total", c.frames);
    if (n.has("events")) n.into("events", c.events);
    n.into("roce", p.roce);
    n.into("icrc_good", p.icrc_good);
    n.into("icrc_bad", p.icrc_bad);
    n.into("icrc_unchecked", p.icrc_unchecked);
    if (n.has("glued")) n.into("glued", p.coalesced);
    n.into("retransmitted", p.retransmitted);
    n.into("captured_twice", p.captured_twice);
    n.into("reordered", p.reordered);
    n.into("lost_network", p.lost_network);
    n.into("lost_capture", p.lost_capture);
    n.into("nak", p.nak);
    n.into("rnr", p.rnr);
    n.into("cm", p.cm);
    n.into("other_service", p.other_service);
    n.into("malformed", p.malformed);
    n.into("cut_short", c.cut_short);
    if (c.cut_short < p.icrc_unchecked) {
      n.get("cut_short").fail("less than icrc_unchecked, which it includes");
    } else {
      c.cut_short -= p.icrc_unchecked;
    }
    n.into("fragments", c.fragments);
    n.into("unknown_link", c.unknown_link);
    if (!n.has("unread")) return;  // of an older version
    n.get("unread").for_each([&](const JsonNode& kind) {
      std::string name;
      kind.into("name", name);
      kind.into("frames", c.unread[name]);
    });
  }

  void capture(const JsonNode& n) {
    CaptureSummary& c = r_.capture;
    n.into("files", c.files);
    n.into("first_time_ns", c.first_ns);
    n.into("last_time_ns", c.last_ns);
    n.into("dropped", c.dropped);
    n.into("cut_short", c.file_cut_short);
    if (n.has("damage")) n.into("damage", c.damage);
    n.into("clock_steps_back", c.clock_steps_back);
  }

  void messages(const JsonNode& n) {
    for (std::size_t i = 0; i < r_.messages.kinds.size(); ++i) {
      const char* const kind = model::kind_name(static_cast<model::Kind>(i));
      // Reports of before version 2's later dialects were known have none of theirs.
      if (i == static_cast<std::size_t>(model::Kind::kControl) && !n.has(kind)) continue;
      n.into(kind, r_.messages.kinds[i]);
    }
    n.get("types").for_each_member([&](std::string_view name, const JsonNode& count) {
      r_.messages.types[std::string(name)] = count.u64();
    });
  }

  // An ID that was given out.
  std::uint32_t id(const JsonNode& n) const {
    const std::uint32_t value = n.u32();
    if (value == 0 || value > r_.connection_ids) n.fail("not an ID of 1 to connection_ids");
    return value;
  }

  static void end_point(const JsonNode& n, EndPoint& e) {
    n.into("address", e.address);
    if (n.has("qpn")) e.qpn = n.get("qpn").u32();
    e.cm_seen = n.has("cm");
    if (e.cm_seen) {
      const JsonNode cm = n.get("cm");
      cm.into("frame", e.cm_frame);
      cm.into("responder_resources", e.responder_resources);
      cm.into("initiator_depth", e.initiator_depth);
      if (cm.has("rnr_retry_count")) e.rnr_retry_count = cm.get("rnr_retry_count").u32();
    }
    if (n.has("private_data")) {
      const JsonNode p = n.get("private_data");
      e.private_data.emplace();
      p.into("version", e.private_data->version);
      p.into("remote_invalidation", e.private_data->remote_invalidation);
      p.into("send_size", e.private_data->send_size);
      p.into("receive_size", e.private_data->receive_size);
    }
    const JsonNode counters = n.get("counters");
    roce::SideCounters& c = e.counters;
    counters.into("packets", c.packets);
    counters.into("payload_bytes", c.payload_bytes);
    e.resends_unseen = !counters.has("retransmitted");
    if (!e.resends_unseen) counters.into("retransmitted", c.retransmitted);
    counters.into("captured_twice", c.captured_twice);
    counters.into("reordered", c.reordered);
    counters.into("lost_network", c.lost_network);
    counters.into("lost_capture", c.lost_capture);
    counters.into("reads_unseen", c.reads_unseen);
    counters.into("acknowledged_unseen", c.acknowledged_unseen);
    counters.into("acks", c.acks);
    const JsonNode naks = counters.get("naks");
    for (std::size_t i = 0; i < c.naks.size(); ++i) {
      const char* name = wire::nak_name(static_cast<std::uint8_t>(i));
      if (naks.has(name)) naks.into(name, c.naks[i]);
    }
    counters.into("rnr", c.rnr);
    counters.into("illegal_sequence", c.illegal_sequence);
    counters.into("orphans", c.orphans);
  }

  static void counts(const JsonNode& n, Direction& d) {
    n.into("calls", d.calls);
    n.into("replies", d.replies);
    n.into("errors", d.errors);
    n.into("unmatched_calls", d.unmatched_calls);
    n.into("unmatched_replies", d.unmatched_replies);
  }

  void unlisted(const JsonNode& n) {
    Unlisted& u = r_.unlisted;
    n.into("connections", u.connections);
    n.into("packets", u.packets);
    n.into("messages", u.messages);
    n.into("chunk_bytes", u.chunk_bytes);
    counts(n.get("forward"), u.direction[0]);
    counts(n.get("reverse"), u.direction[1]);
  }

  static void direction(const JsonNode& count, const JsonNode& credits, Direction& d) {
    counts(count, d);
    credits.into("requested", d.requested);
    credits.into("granted", d.granted);
    credits.into("in_use_max", d.in_use_max);
    credits.into("requested_max", d.requested_max);
    credits.into("granted_min", d.granted_min);
    credits.into("granted_max", d.granted_max);
  }

  void connection(const JsonNode& n) {
    const std::uint32_t before = r_.connections.empty() ? 0 : r_.connections.back().id;
    Connection& c = r_.connections.emplace_back();
    c.id = id(n.get("id"));
    if (c.id <= before) n.get("id").fail("not greater than that of the connection before");
    c.speaks = name_of<model::Speaks, 3>(n.get("protocol"), protocol_name);
    end_point(n.get("client"), c.side[0]);
    end_point(n.get("server"), c.side[1]);
    c.roles = name_of<Roles, 3>(n.get("roles"), roles_name);
    c.by_cm = n.get("setup").second_of("inferred", "cm");
    if (n.has("recorded")) {
      n.into("recorded", c.recorded);
      n.into("events_lost", c.events_lost);
      n.into("operations_unseen", c.operations_unseen);
    }
    if (n.has("joined")) n.into("joined", c.joined);
    c.state = name_of<roce::State, 4>(n.get("state"), state_name);
    if (n.has("reject_reason")) n.into("reject_reason", c.reject_reason);
    if (n.has("closed_by")) {
      c.closed_by = n.get("closed_by").second_of("client", "server") ? 1 : 0;
      n.into("closed_frame", c.closed_frame);
    }
    if (n.has("service_id")) n.into("service_id", c.service_id);
    if (n.has("path_mtu")) n.into("path_mtu", c.path_mtu);
    if (n.has("version")) n.into("version", c.version);
    if (n.has("dialect")) {
      const JsonNode d = n.get("dialect");
      d.into("name", c.dialect.name);
      if (d.has("frame")) d.into("frame", c.dialect.frame);
      d.into("reason", c.dialect.reason);
    }
    n.into("sends", c.sends);
    n.into("messages", c.messages);
    n.into("malformed", c.malformed);
    n.into("cut_short", c.cut_short);
    n.into("clock_stepped_back", c.clock_stepped_back);
    const JsonNode credits = n.get("credits");
    direction(n.get("forward"), credits.get("forward"), c.direction[0]);
    direction(n.get("reverse"), credits.get("reverse"), c.direction[1]);
    const JsonNode thresholds = n.get("thresholds");
    thresholds.into("call", c.thresholds.call);
    thresholds.into("reply", c.thresholds.reply);
    const JsonNode chunks = n.get("chunks");
    for (std::size_t list = 0; list < c.chunks.size(); ++list) {
      const JsonNode chunk =
          chunks.get(model::chunk_list_name(static_cast<model::ChunkList>(list)));
      chunk.into("chunks", c.chunks[list]);
      chunk.into("bytes", c.chunk_bytes[list]);
    }
    n.into("inline_bytes", c.inline_bytes);
    n.into("stray_operations", c.unmatched_operations);
    const JsonNode icrc = n.get("icrc");
    icrc.into("good", c.icrc_good);
    icrc.into("bad", c.icrc_bad);
    n.into("first_frame", c.first_frame);
    n.into("last_frame", c.last_frame);
    n.into("first_time_ns", c.first_ns);
    n.into("last_time_ns", c.last_ns);
  }

  static ProcedureKey key(const JsonNode& n) {
    ProcedureKey k;
    k.reverse = reverse_direction(n.get("direction"));
    if (n.get("others").boolean()) return ProcedureKey::others(k.reverse);
    if (n.has("program")) {
      n.into("program", k.program);
      n.into("version", k.version);
      n.into("procedure", k.procedure);
      if (n.has("operation")) n.into("operation", k.operation);
    }
    return k;
  }

  void slow_calls(const JsonNode& list, SlowCalls& to) const {
    list.for_each([&](const JsonNode& n) {
      SlowCall s;
      s.latency_ns = n.get("latency_ns").duration_ns();
      n.into("frame", s.frame);
      n.into("reply_frame", s.reply_frame);
      n.into("time_ns", s.time_ns);
      n.into("xid", s.xid);
      s.connection = id(n.get("connection"));
      s.reverse = reverse_direction(n.get("direction"));
      n.into("name", s.label);
      if (n.has("parts_ns")) {
        const JsonNode parts = n.get("parts_ns");
        s.before_data_ns = parts.get("call_to_first_operation").duration_ns();
        s.data_ns = parts.get("operations").duration_ns();
        s.after_data_ns = parts.get("last_operation_to_reply").duration_ns();
      }
      to.offer(s);
    });
  }

  void procedure(const JsonNode& n) {
    const ProcedureKey k = key(n);
    // Those beyond have the two entries of all others.
    if (r_.procedures.size() >= kMaxProcedures + 2) return n.fail("more procedures than are kept");
    const auto [at, added] = r_.procedures.try_emplace(k);
    if (!added) return n.fail("the same as one before");
    Procedure& p = at->second;
    n.into("name", p.label);
    n.into("calls", p.calls);
    n.into("replies", p.replies);
    n.into("errors", p.errors);
    n.into("unmatched", p.unmatched);
    const JsonNode bytes = n.get("bytes");
    for (std::size_t list = 0; list < p.bytes.size(); ++list) {
      bytes.into(model::chunk_list_name(static_cast<model::ChunkList>(list)), p.bytes[list]);
    }
    p.total = read_histogram(n.get("latency_us"));
    if (n.has("parts_us")) {
      const JsonNode parts = n.get("parts_us");
      p.before_data = read_histogram(parts.get("call_to_first_operation"));
      p.data = read_histogram(parts.get("operations"));
      p.after_data = read_histogram(parts.get("last_operation_to_reply"));
    }
    slow_calls(n.get("slowest"), p.slowest);
  }

  // `bin_of` gives the number of a bin, `fill` the rest.
  template <typename Bin, typename BinOf, typename Fill>
  static void series(const JsonNode& n, Series<Bin>& to, BinOf&& bin_of, Fill&& fill) {
    const std::uint32_t shift = n.get("shift").u32();
    if (shift < Series<Bin>::kMinShift || shift > Series<Bin>::kMaxShift) {
      return n.get("shift").fail(fmt::format("expected an integer of {} to {}",
                                             Series<Bin>::kMinShift, Series<Bin>::kMaxShift));
    }
    const std::int64_t end = std::int64_t{1} << (Series<Bin>::kMaxShift - shift);
    std::int64_t first = 0;
    std::int64_t last = 0;
    bool begun = false;
    n.get("bins").for_each([&](const JsonNode& bin) {
      const std::int64_t number = bin_of(bin);
      if (number < -end || number >= end) return bin.fail("at a time beyond 2^62 ns");
      if (begun && number <= last) return bin.fail("not later than the one before");
      if (!begun) first = number;
      if (number - first >= static_cast<std::int64_t>(Series<Bin>::kBins)) {
        return bin.fail("more than 255 bins behind the first");
      }
      begun = true;
      last = number;
      fill(bin, to.restore(shift, number));
    });
  }

  void traffic(const JsonNode& n) {
    series(
        n, r_.traffic, [](const JsonNode& bin) { return bin.get("bin").ns(); },
        [](const JsonNode& bin, TrafficBin& to) {
          bin.into("calls", to.calls);
          bin.into("replies", to.replies);
          bin.into("errors", to.errors);
          bin.into("read_bytes", to.read_bytes);
          bin.into("write_bytes", to.write_bytes);
          bin.into("inline_bytes", to.inline_bytes);
          bin.into("retransmitted", to.retransmitted);
          bin.into("nak", to.naks);
          bin.into("rnr", to.rnrs);
          bin.into("outstanding_max", to.outstanding_max);
          const JsonNode latency = bin.get("latency_ns");
          latency.into("count", to.latency_count);
          latency.into("sum", to.latency_sum);
          to.latency_max = latency.get("max").duration_ns();
          latency.get("log2").for_each([&](const JsonNode& pair) {
            if (pair.size() != 2) return pair.fail("expected two integers");
            const std::uint64_t bucket = pair.at(0).u64();
            if (bucket >= to.latency.size()) return pair.fail("no such bucket");
            to.latency[bucket] = pair.at(1).u64();
          });
        });
  }

  static void credit_series(const JsonNode& n, CreditSeries& to) {
    series(
        n, to,
        [](const JsonNode& bin) {
          if (bin.size() == 5 || bin.size() == 6) return bin.at(0).ns();
          bin.fail("expected five integers, or six");
          return std::int64_t{0};
        },
        [](const JsonNode& bin, CreditBin& c) {
          if (bin.size() < 5) return;
          c = {bin.at(1).u32(), bin.at(2).u32(), bin.at(3).u32(), bin.at(4).u32()};
          c.granted = c.granted_max != 0 || (bin.size() == 6 && bin.at(5).u32() != 0);
        });
  }

  void credits(const JsonNode& n) {
    if (r_.credits.size() >= kMaxCreditSeries) return n.fail("more connections than are kept");
    ConnectionCredits& c = r_.credits.emplace_back();
    c.connection = id(n.get("connection"));
    credit_series(n.get("forward"), c.direction[0]);
    credit_series(n.get("reverse"), c.direction[1]);
  }

  void edges(const JsonNode& n) {
    const JsonNode open_calls = n.get("open_calls");
    const JsonNode early_replies = n.get("early_replies");
    open_calls.for_each([&](const JsonNode& call) {
      OpenCall& c = r_.edges.open_calls.emplace_back();
      c.connection = id(call.get("connection"));
      call.into("xid", c.xid);
      call.into("frame", c.frame);
      call.into("time_ns", c.time_ns);
      c.reverse = call.get("caller").second_of("client", "server");
      if (call.has("counted")) call.into("counted", c.counted);
      c.procedure = key(call.get("procedure"));
    });
    early_replies.for_each([&](const JsonNode& reply) {
      EarlyReply& e = r_.edges.early_replies.emplace_back();
      e.connection = id(reply.get("connection"));
      reply.into("xid", e.xid);
      reply.into("frame", e.frame);
      reply.into("time_ns", e.time_ns);
      e.reverse = reply.get("caller").second_of("client", "server");
      reply.into("rdma_error", e.rdma_error);
      reply.into("failed", e.failed);
      if (reply.has("counted")) reply.into("counted", e.counted);
    });
    n.into("omitted", r_.edges.omitted);
  }

  std::uint32_t id_or_none(const JsonNode& n) const { return n.is_null() ? 0 : id(n); }

  // Reports of before there were any have none.
  static void spans(const JsonNode& list, Finding& f) {
    if (list.size() > rules::kMaxSpans) list.fail("more than are kept");
    list.for_each([&](const JsonNode& n) {
      rules::Span& span = f.spans.emplace_back();
      n.into("since_ns", span.since_ns);
      if (n.has("until_ns")) n.into("until_ns", span.until_ns);
    });
  }

  void findings(const JsonNode& top) {
    top.get("findings").for_each([&](const JsonNode& n) {
      Finding& f = r_.findings.emplace_back();
      n.into("rule", f.rule);
      f.severity = name_of<rules::Severity, 3>(n.get("severity"), rules::severity_name);
      if (n.has("peer")) n.into("peer", f.peer);
      if (n.has("role")) n.into("role", f.role);
      f.connection = id_or_none(n.get("connection"));
      const JsonNode frames = n.get("frames");
      if (frames.size() > rules::kMaxFrames) frames.fail("more than are kept");
      frames.for_each([&](const JsonNode& frame) { f.frames.push_back(frame.u64()); });
      if (n.has("spans")) spans(n.get("spans"), f);
      n.into("count", f.count);
      if (n.has("of")) n.into("of", f.of);
      n.into("topic", f.topic);
      n.into("text", f.text);
      n.into("advice", f.advice);
      n.into("concluded", f.concluded);
    });
    const JsonNode omitted = top.get("findings_omitted_by_severity");
    for (std::size_t i = 0; i < r_.findings_omitted.size(); ++i) {
      omitted.into(rules::severity_name(static_cast<rules::Severity>(i)), r_.findings_omitted[i]);
    }
    top.get("withheld").for_each([&](const JsonNode& n) {
      Inconclusive& w = r_.inconclusive.emplace_back();
      n.into("rule", w.rule);
      w.connection = id(n.get("connection"));
      n.into("count", w.count);
      n.into("reason", w.reason);
      n.into("concluded", w.concluded);
    });
  }

  Report& r_;
};

}  // namespace

tl::expected<Report, std::string> read_json(std::string_view text) {
  rapidjson::Document document;
  // Iterative: nesting costs memory in proportion to the text, and no stack.
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());
  if (document.HasParseError()) {
    std::string_view why = rapidjson::GetParseError_En(document.GetParseError());
    if (why.ends_with('.')) why.remove_suffix(1);
    return tl::unexpected(fmt::format("not JSON: {}, at byte {}", why, document.GetErrorOffset()));
  }
  std::string problem;
  const JsonNode top(document, problem);
  if (!top.has("schema")) return tl::unexpected(std::string("schema: missing"));
  Report report;
  Reader(report).read(top);
  if (!problem.empty()) return tl::unexpected(problem);
  return report;
}

}  // namespace rpcrdma::report
