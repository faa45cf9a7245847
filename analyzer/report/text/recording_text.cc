#include "recording_text.h"

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
    add("endpoint",
        fmt::format("{}{}{}, process {}", e.name, e.role.empty() ? "" : ", ", e.role, e.process));
  }
  add("not seen",
      "retransmissions by peers, and delays before retransmissions; RETX-STORM by peers and "
      "SLOW-NETWORK are not checked");
  const auto calls = [&add](const char* name, const RecordedTimes& t, const std::string& text) {
    if (!text.empty()) {
      add(name, fmt::format("{} Call{}: {} (p50 / p99)", t.turn.count(),
                            t.turn.count() == 1 ? "" : "s", text));
    }
  };
  calls("made", r.made, made(r.made));
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
  if (r.faults_omitted != 0) add("fault", fmt::format("and {} other packets", r.faults_omitted));
  return lines;
}

}  // namespace rpcrdma::report
