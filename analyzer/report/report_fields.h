// Lists the fields of a report in JSON (docs/json.md), for both the writer (report_json.cc) and the
// reader (report_read.cc).
#pragma once

#include "connection_fields.h"
#include "field_reader.h"
#include "field_writer.h"
#include "file_fields.h"
#include "latency_fields.h"
#include "reconnect_fields.h"
#include "recording_fields.h"
#include "sessions_fields.h"
#include "timing_fields.h"
#include "traffic_fields.h"

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

template <typename Archive>
void packet_fields(Archive& a, Of<Archive, CaptureSummary>& c) {
  auto& p = c.packets;
  a("total", c.frames);
  a("events", c.events);
  a("roce", p.roce);
  a("icrc_good", p.icrc_good);
  a("icrc_bad", p.icrc_bad);
  unless_zero(a, "icrc_accepted", p.icrc_accepted);
  unless_zero(a, "icrc_off", p.icrc_off);
  a("icrc_unchecked", p.icrc_unchecked);
  a("coalesced", p.coalesced);
  a("iwarp", p.iwarp);
  a("crc_good", p.crc_good);
  a("crc_bad", p.crc_bad);
  a("crc_unchecked", p.crc_unchecked);
  a("retransmitted", p.retransmitted);
  a("duplicated", p.captured_twice);
  a("reordered", p.reordered);
  a("lost_network", p.lost_network);
  a("lost_capture", p.lost_capture);
  a("nak", p.nak);
  a("rnr", p.rnr);
  a("cm", p.cm);
  a("other_service", p.other_service);
  unless_zero(a, "ce", p.ce);
  unless_zero(a, "cnp", p.cnp);
  a("malformed", p.malformed);
  a("headers_truncated", p.headers_cut);
  a("cm_truncated", p.cm_cut);
  std::uint64_t truncated = c.cut_short + p.icrc_unchecked;
  a("truncated", truncated);
  if constexpr (Archive::kReads) {
    if (truncated < p.icrc_unchecked) {
      a.fail("truncated", "less than icrc_unchecked, which it includes");
    } else {
      c.cut_short = truncated - p.icrc_unchecked;
    }
  }
  a("fragments", c.fragments);
  a("unknown_link", c.unknown_link);
  unless_zero(a, "nfs_tcp_calls", c.nfs_tcp);
  if (a.present("pause_frames", !c.pauses.empty())) {
    a.entries("pause_frames", c.pauses, [](auto& in, auto& source, auto& counts) {
      in("source", source);
      in.sparse("paused", counts.paused);
      in.sparse("resumed", counts.resumed);
      in("paused_whole", counts.whole_paused);
      in("resumed_whole", counts.whole_resumed);
      in("longest_quanta", counts.longest);
      in("first_frame", counts.first_frame);
      in("last_frame", counts.last_frame);
    });
  }
  a.entries("not_decoded", c.unread, [](auto& in, auto& name, auto& frames) {
    in("name", name);
    in("frames", frames);
  });
}

template <typename Archive>
void capture_fields(Archive& a, Of<Archive, CaptureSummary>& c) {
  a("files", c.files);
  a.derived("seconds", seconds_between(c.first_ns, c.last_ns));
  a("first_time_ns", c.first_ns);
  a("last_time_ns", c.last_ns);
  a("dropped", c.dropped);
  a("truncated", c.file_cut_short);
  a.nullable("damage", c.damage);
  a.nullable("note", c.note);
  a("snaplen", c.snaplen);
  a("clock_steps_back", c.clock_steps_back);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, MessageCounts>& m) {
  for (std::size_t i = 0; i < m.kinds.size(); ++i) {
    a(model::kind_name(static_cast<model::Kind>(i)), m.kinds[i]);
  }
  a.counts("types", m.types);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, OpenCall>& c) {
  a.id("connection", c.connection);
  a("xid", c.xid);
  a("frame", c.frame);
  a("time_ns", c.time_ns);
  a.either("caller", c.reverse, "client", "server");
  a.if_filtered("counted", c.counted);
  a.object_of("procedure", c.procedure);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, EarlyReply>& r) {
  a.id("connection", r.connection);
  a("xid", r.xid);
  a("frame", r.frame);
  a("time_ns", r.time_ns);
  a.either("caller", r.reverse, "client", "server");
  a("rdma_error", r.rdma_error);
  a("failed", r.failed);
  a.if_filtered("counted", r.counted);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Edges>& e) {
  a.objects("calls_in_flight", e.open_calls, SIZE_MAX);
  a.objects("unmatched_replies", e.early_replies, SIZE_MAX);
  a("omitted", e.omitted);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, rules::Span>& span) {
  a("since_ns", span.since_ns);
  a.nullable("until_ns", span.until_ns);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Finding>& f) {
  a("rule", f.rule);
  a.name("severity", f.severity, rules::severity_name, 3);
  a.nullable("peer", f.peer);
  a.nullable("role", f.role);
  a.id_or_none("connection", f.connection);
  a.numbers("frames", f.frames, rules::kMaxFrames);
  a.objects("spans", f.spans, rules::kMaxSpans);
  a("count", f.count);
  a.nullable("total", f.of);
  a("topic", f.topic);
  a("text", f.text);
  a("advice", f.advice);
  a("concluded", f.concluded);
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Inconclusive>& w) {
  a("rule", w.rule);
  a.id("connection", w.connection);
  a("count", w.count);
  a("reason", w.reason);
  a("concluded", w.concluded);
}

template <typename Archive>
void finding_fields(Archive& a, Of<Archive, Report>& r) {
  a.objects("findings", r.findings, SIZE_MAX);
  std::uint64_t omitted = 0;
  for (const std::uint64_t n : r.findings_omitted) omitted += n;
  a.derived("findings_omitted", omitted);
  a.object("findings_omitted_by_severity", [&](auto& in) {
    for (std::size_t i = 0; i < r.findings_omitted.size(); ++i) {
      in(rules::severity_name(static_cast<rules::Severity>(i)), r.findings_omitted[i]);
    }
  });
  a.objects("inconclusive", r.inconclusive, SIZE_MAX);
}

// The fields of a report before the list of its connections, which two threads can share.
// `derived(archive)` writes the capture quality.
template <typename Archive, typename Derived>
void fields_before_connections(Archive& a, Of<Archive, Report>& r, Derived&& derived) {
  a.name("profile", r.profile, profile_name, 2);
  a.nullable("filter", r.filter);
  a.object("packets", [&](auto& in) { packet_fields(in, r.capture); });
  a.object("capture", [&](auto& in) { capture_fields(in, r.capture); });
  derived(a);
  a.object_of("messages", r.messages);
}

template <typename Archive>
void fields_after_connections(Archive& a, Of<Archive, Report>& r) {
  a.object_of("not_listed", r.not_listed);
  a.object_or_null("recording", r.recording.any(), r.recording);
  a("connection_ids", r.connection_ids);
  a.entries("procedures", r.procedures,
            [](auto& in, auto& key, auto& procedure) { procedure_fields(in, key, procedure); });
  slow_calls(a, "slowest", r.slowest);
  if (a.present("files", true)) a.object_of("files", r.files);
  a.object("series", [&](auto& in) {
    in.object_of("traffic", r.traffic);
    in.objects("credits", r.credits, kMaxCreditSeries);
    in("credits_omitted", r.credits_omitted);
  });
  latency_fields(a, r);
  a.object_of("edges", r.edges);
  if (a.present("timing", true)) a.object_of("timing", r.timing);
  if (a.present("reconnects", true)) {
    a.object_of("reconnects", r.reconnects);
  } else if constexpr (Archive::kReads) {
    r.reconnects.complete = false;
  }
  session_fields(a, r);
  finding_fields(a, r);
}

}  // namespace rpcrdma::report
