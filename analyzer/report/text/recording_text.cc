#include "recording_text.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/decode/schema.h>

namespace rpcrdma::report {

namespace {

using base::format_bytes;
using base::format_duration;

std::string times(std::uint64_t n) {
  return n == 1 ? "once" : n == 2 ? "twice" : fmt::format("{} times", n);
}

std::string waits(std::uint64_t n) {
  return fmt::format("{} wait{}", n, n == 1 ? "" : "s");
}

std::string integrity(const trace_reader::ReaderStats& e) {
  if (e.emitted == 0) return fmt::format("{}; total unknown (no loss counters)", e.events);
  std::string text =
      fmt::format("{} emitted = {} received + {} lost", e.emitted, e.received, e.lost);
  if (e.missing != 0) text += fmt::format(" + {} missing from the recording", e.missing);
  const auto item = [&text](std::uint64_t n, const char* what) {
    if (n != 0) text += fmt::format("; {} {}", n, what);
  };
  item(e.unknown, "of types newer than this program");
  item(e.malformed, "damaged");
  item(e.unplaced, "of unknown connections");
  item(e.passed_over, "skipped, because another file continues the recording of their endpoint");
  return text;
}

// "credit wait 0 ns / 2 ms"
void part(std::string& text, const char* name, const base::Histogram& h) {
  if (h.count() == 0) return;
  text += fmt::format("{}{} {} / {}", text.empty() ? "" : ", ", name,
                      format_duration(h.quantile(0.5)), format_duration(h.quantile(0.99)));
}

std::string made(const RecordedTimes& t) {
  std::string text;
  part(text, "credit wait", t.waiting);
  part(text, "sending", t.sending);
  part(text, "response", t.turn);
  part(text, "completion", t.completion);
  return text;
}

// Parts of `sending`.
std::string until_posted(const RecordedSending& t) {
  std::string text;
  part(text, "slot wait", t.slot_wait);
  part(text, "marshal", t.marshal);
  part(text, "post", t.post);
  return text.empty() ? text : text + " (p50 / p99)";
}

std::string sums_text(const RecordedProcedure& p) {
  std::string text = fmt::format("connection {}, {}{}: {} Calls, {} Replies, {} errors",
                                 p.connection, p.by_peer ? "by the peer, " : "", procedure_text(p),
                                 p.calls, p.replies, p.errors);
  const auto p50 = latency_of(p, 0.5), p99 = latency_of(p, 0.99);
  if (p50 && p99) {
    const auto ns = [](std::uint64_t n) {
      return format_duration(static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)));
    };
    text += fmt::format("; latency {} / {}, at most {} (p50 / p99)", ns(*p50), ns(*p99),
                        ns(p.max_latency_ns));
  }
  const auto bytes = [&text](const char* name, std::uint64_t n) {
    if (n != 0) text += fmt::format(", {} {}", name, format_bytes(n));
  };
  text += fmt::format("; sent {}, answered {}", format_bytes(p.call_bytes),
                      format_bytes(p.reply_bytes));
  bytes("Read chunks", p.read_chunk_bytes);
  bytes("Write and Reply chunks", p.write_chunk_bytes);
  return text;
}

std::string sums_text(const RecordedConnection& c) {
  const trace::ConnectionSums& s = c.sums;
  std::string text =
      fmt::format("connection {}: {} Sends, {}; {} Receives, {}", c.connection, s.sends,
                  format_bytes(s.send_bytes), s.receives, format_bytes(s.receive_bytes));
  const auto item = [&text](std::uint64_t n, const char* what) {
    if (n != 0) text += fmt::format("; {} {}", n, what);
  };
  if (s.read_bytes + s.written_bytes != 0) {
    text += fmt::format("; RDMA Reads {}, RDMA Writes {}", format_bytes(s.read_bytes),
                        format_bytes(s.written_bytes));
  }
  if (s.credit_waits != 0) {
    const auto ns = static_cast<std::int64_t>(std::min<std::uint64_t>(s.credit_wait_ns, INT64_MAX));
    text +=
        fmt::format("; {} for a credit, {} in total", waits(s.credit_waits), format_duration(ns));
  }
  item(s.send_queue_full, "waits for the send queue");
  item(s.resent_calls, "resent Calls");
  item(s.flushed, "completions with an error");
  item(s.invalid_headers, "invalid headers");
  return text;
}

std::string served(const RecordedTimes& t) {
  std::string text;
  part(text, "reading", t.sending);
  part(text, "response", t.turn);
  part(text, "completion", t.completion);
  return text;
}

}  // namespace

std::vector<RecordingLine> recording_lines(const Recording& r) {
  std::vector<RecordingLine> lines;
  const auto add = [&lines](const char* name, std::string text) {
    if (!text.empty()) lines.push_back({name, std::move(text)});
  };
  add("events", integrity(r.events));
  for (const RecordedEndpoint& e : r.endpoints) {
    add("endpoint", fmt::format("{}{}{}, {}", e.name, e.role.empty() ? "" : ", ", e.role,
                                roce::is_kernel(e.origin) ? std::string(roce::origin_name(e.origin))
                                                          : fmt::format("process {}", e.process)));
  }
  add("not seen",
      r.only_kernel()
          ? "retransmissions, NAKs and RNR NAKs; RETX-STORM, RNR and SLOW-NETWORK are not checked"
          : "retransmissions by peers, and delays before retransmissions; RETX-STORM by peers and "
            "SLOW-NETWORK are not checked");
  const auto calls = [&add](const char* name, const RecordedTimes& t, const std::string& text) {
    if (!text.empty()) {
      add(name, fmt::format("{} Call{}: {} (p50 / p99)", t.turn.count(),
                            t.turn.count() == 1 ? "" : "s", text));
    }
  };
  calls("made", r.made, made(r.made));
  add("sending", until_posted(r.sending));
  calls("served", r.served, served(r.served));
  if (r.credit_waits != 0) add("credit", fmt::format("{} for a credit", waits(r.credit_waits)));
  if (r.advertised != 0) {
    add("memory", fmt::format("advertised {}, {}; {} invalidated locally, {} by the peer",
                              times(r.advertised), format_bytes(r.advertised_bytes),
                              r.invalidated_locally, r.invalidated));
  }
  if (r.receives != 0) add("Receives", fmt::format("{} posted", r.receives));
  for (const RecordedError& e : r.errors) {
    add("error", fmt::format("by the {}, {}, first in frame {}: {}", e.peer ? "peer" : "endpoint",
                             times(e.count), e.first_frame, e.reason));
  }
  if (r.errors_omitted != 0) add("error", fmt::format("and {} others", r.errors_omitted));
  for (const RecordedFault& f : r.faults) {
    const char* const action =
        decode::value_name(decode::spec(decode::FieldId::kTraceFaultAction), f.action);
    add("fault", fmt::format("{} {} {} packets: {}", action != nullptr ? action : "unknown",
                             f.packets, f.outgoing ? "outgoing" : "incoming", f.rule));
  }
  for (const RecordedConnection& c : r.connections) add("sums", sums_text(c));
  for (const RecordedProcedure& p : r.procedures) add("sums", sums_text(p));
  if (r.sums_omitted != 0) add("sums", fmt::format("and {} others", r.sums_omitted));
  if (r.faults_omitted != 0) add("fault", fmt::format("and {} other packets", r.faults_omitted));
  return lines;
}

}  // namespace rpcrdma::report
