#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <rpcrdma/report/analysis.h>

namespace rpcrdma::report {

namespace {
// Findings of one rule on one connection are joined; this many different ones are kept.
constexpr std::size_t kMaxFindings = 4096;
// A peer may invent programs without end, and the statistics of one take 22 KiB.
constexpr std::size_t kMaxProcedures = 1024;
}  // namespace

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "note";
}

void Analysis::add_finding(Finding finding) {
  const auto [it, added] = finding_index_.try_emplace(
      fmt::format("{}\n{}\n{}\n{}", finding.rule, finding.connection, finding.peer, finding.text),
      findings_.size());
  if (!added) {
    Finding& f = findings_[it->second];
    f.count += finding.count;
    for (const std::uint64_t frame : finding.frames) {
      if (f.frames.size() < kMaxFrames) f.frames.push_back(frame);
    }
  } else if (findings_.size() < kMaxFindings) {
    findings_.push_back(std::move(finding));
  } else {
    finding_index_.erase(it);
    ++omitted_[static_cast<std::size_t>(finding.severity)];
  }
}

std::uint64_t Analysis::omitted() const {
  return std::accumulate(omitted_.begin(), omitted_.end(), std::uint64_t{0});
}

void Analysis::on_message(const model::Message& m, const model::Call* call) {
  (void)call;
  ++kinds_[static_cast<std::size_t>(m.kind)];
  ++(m.version == 2 ? procs_v2_ : procs_v1_)[std::min(m.proc, 6U)];
  if (m.malformed) {
    Finding f;
    f.rule = m.malformed->rule;
    // Bytes that came with a wrong ICRC are not what the sender sent.
    f.severity = m.suspect ? Severity::kWarning : Severity::kError;
    f.peer = context_.connection(m).side[context_.sender(m)].address.to_string();
    f.connection = context_.connection_id(m.connection);
    f.frames = {m.frame};
    f.text = fmt::format("malformed transport header: {}", wire::describe(*m.malformed));
    f.advice =
        m.suspect
            ? "Its packet has a wrong ICRC: the bytes were damaged, in the capture or before."
            : "Look at the sender's marshalling; `rpcrdma decode -v` shows the header so far.";
    add_finding(std::move(f));
  }
}

ProcedureStats& Analysis::procedure(const model::RpcInfo& rpc, bool reverse) {
  Key key{rpc.known ? rpc.program : UINT32_MAX, rpc.version, rpc.procedure,
          principal_operation(rpc), reverse};
  std::string label;
  if (procedures_.size() >= kMaxProcedures && procedures_.count(key) == 0) {
    key = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, reverse};
    label = "all others";
  }
  ProcedureStats& p = procedures_[key];
  if (p.label.empty()) {
    p.label = label.empty() ? procedure_label(rpc) : label;
    p.reverse = reverse;
  }
  return p;
}

void Analysis::on_call_end(const model::Call& call, const model::Message* answer) {
  const model::Message& m = call.message;
  ProcedureStats& p = procedure(m.rpc, context_.model->reverse(m));
  ++p.calls;
  for (const model::CallChunk& chunk : call.chunks) {
    switch (chunk.list) {
      case model::ChunkList::kRead:
        p.read_bytes += chunk.moved;
        break;
      case model::ChunkList::kWrite:
        p.write_bytes += chunk.moved;
        break;
      case model::ChunkList::kReply:
        p.reply_bytes += chunk.moved;
        break;
    }
  }
  if (answer == nullptr) {
    ++p.unmatched;
    return;
  }
  if (answer->kind == model::Kind::kError ||
      (answer->rpc.header_seen && (answer->rpc.reply_stat != wire::ReplyStat::kAccepted ||
                                   answer->rpc.accept_stat != wire::AcceptStat::kSuccess))) {
    ++p.errors;
  }
  ++p.replies;
  p.total.add(answer->time_ns - m.time_ns);
  if (call.first_op_ns >= 0 && call.last_op_ns >= 0) {
    p.before_data.add(call.first_op_ns - m.time_ns);
    p.data.add(call.last_op_ns - call.first_op_ns);
    p.after_data.add(answer->time_ns - call.last_op_ns);
  }
}

void Analysis::finish(const Pipeline& pipeline, const capture::SourceStats& source) {
  pipeline_ = &pipeline;
  source_ = source;
  const roce::PacketStats& packets = pipeline.tracker().stats();
  const auto capture_finding = [&](Severity severity, const char* rule, std::string text,
                                   const char* advice) {
    Finding f;
    f.rule = rule;
    f.severity = severity;
    f.text = std::move(text);
    f.advice = advice;
    add_finding(std::move(f));
  };
  if (source_.cut_short || !source_.damage.empty()) {
    capture_finding(
        Severity::kWarning, "CAPTURE",
        source_.damage.empty() ? "the file ends in the middle of a record" : source_.damage,
        "What follows the damage is not in this report; capture again if it matters.");
  }
  if (source_.dropped != 0) {
    capture_finding(Severity::kWarning, "CAPTURE",
                    fmt::format("{} packets were dropped while capturing", source_.dropped),
                    "Use a larger buffer or a smaller snap length.");
  }
  if (packets.lost_capture != 0) {
    capture_finding(
        Severity::kWarning, "CAPTURE",
        fmt::format("{} packets that their receiver acknowledged are not in the capture",
                    packets.lost_capture),
        "Calls and data that they carried are missing here, not on the wire.");
  }
  if (packets.icrc_bad != 0) {
    capture_finding(
        Severity::kWarning, "ICRC",
        fmt::format("{} of {} packets have a wrong ICRC", packets.icrc_bad,
                    packets.icrc_bad + packets.icrc_good),
        packets.icrc_good == 0
            ? "All are wrong: the capture point sees packets before their ICRC is made, or "
              "rewrites "
              "them."
            : "Receivers drop such packets: look for a bad link, or damage to the capture file.");
  }
  for (std::size_t i = 0; i < pipeline.tracker().connection_count(); ++i) {
    const roce::Connection& c = pipeline.tracker().connection(i);
    if (c.merged_away) continue;
    const model::ConnectionModel& m = pipeline.model().connection(c.index);
    if (m.speaks != model::Speaks::kRpc) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      if (m.caller[side].unmatched_calls == 0) continue;
      Finding f;
      f.rule = "HDR-10";
      f.severity = Severity::kNote;
      f.connection = c.index + 1;
      f.peer = c.side[1 - side].address.to_string();
      f.count = m.caller[side].unmatched_calls;
      f.text = fmt::format("{} Calls have no answer in the capture", f.count);
      f.advice = "The capture may begin late or end early; if not, the responder did not answer.";
      add_finding(std::move(f));
    }
  }
  std::stable_sort(findings_.begin(), findings_.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
}

bool Analysis::has_errors() const {
  return omitted_[static_cast<std::size_t>(Severity::kError)] != 0 ||
         std::any_of(findings_.begin(), findings_.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
}

}  // namespace rpcrdma::report
