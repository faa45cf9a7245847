#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <rpcrdma/report/analysis.h>

namespace rpcrdma::report {

namespace {
// A peer may invent programs without end, and the statistics of one take 22 KiB.
constexpr std::size_t kMaxProcedures = 1024;
}  // namespace

std::uint64_t Analysis::omitted() const {
  const auto& n = findings_.omitted();
  return std::accumulate(n.begin(), n.end(), std::uint64_t{0});
}

void Analysis::on_message(const model::Message& m, const model::Call* call) {
  checker_.on_message(m, call);
  ++kinds_[static_cast<std::size_t>(m.kind)];
  ++(m.version == 2 ? procs_v2_ : procs_v1_)[std::min(m.proc, 6U)];
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
  checker_.on_call_end(call, answer);
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
  capture_findings();
  unanswered_findings();
  checker_.finish();
}

void Analysis::capture_findings() {
  using rules::RuleId;
  const roce::PacketStats& packets = pipeline_->tracker().stats();
  std::uint32_t topic = 0;
  const auto add = [&](RuleId rule, const rules::Findings::Text& text, const char* advice) {
    rules::Evidence e;
    e.topic = topic++;
    findings_.add(rule, e, text, advice);
  };
  if (source_.cut_short || !source_.damage.empty()) {
    add(
        RuleId::kCapture,
        [&] {
          return source_.damage.empty() ? "the file ends in the middle of a record"
                                        : source_.damage;
        },
        "What follows the damage is not in this report; capture again if it matters.");
  }
  if (source_.dropped != 0) {
    add(
        RuleId::kCapture,
        [&] { return fmt::format("{} packets were dropped while capturing", source_.dropped); },
        "Use a larger buffer or a smaller snap length.");
  }
  if (packets.lost_capture != 0) {
    add(
        RuleId::kCapture,
        [&] {
          return fmt::format("{} packets that their receiver acknowledged are not in the capture",
                             packets.lost_capture);
        },
        "Calls and data that they carried are missing here, not on the wire.");
  }
  if (packets.icrc_bad != 0) {
    add(
        RuleId::kIcrc,
        [&] {
          return fmt::format("{} of {} packets have a wrong ICRC", packets.icrc_bad,
                             packets.icrc_bad + packets.icrc_good);
        },
        packets.icrc_good == 0
            ? "All are wrong: the capture point sees packets before their ICRC is made, or "
              "rewrites them."
            : "Receivers drop such packets: look for a bad link, or damage to the capture file.");
  }
}

void Analysis::unanswered_findings() {
  for (std::size_t i = 0; i < pipeline_->tracker().connection_count(); ++i) {
    const roce::Connection& c = pipeline_->tracker().connection(i);
    if (c.merged_away) continue;
    const model::ConnectionModel& m = pipeline_->model().connection(c.index);
    if (m.speaks != model::Speaks::kRpc) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      if (m.caller[side].unmatched_calls == 0) continue;
      rules::Evidence e;
      e.connection = &c;
      e.side = static_cast<int>(1 - side);
      e.count = m.caller[side].unmatched_calls;
      findings_.add(
          rules::RuleId::kHdr10, e,
          [&] {
            return fmt::format("{} Calls have no answer in the capture",
                               m.caller[side].unmatched_calls);
          },
          "The capture may begin late or end early; if not, the responder did not answer.");
    }
  }
}

bool Analysis::has_errors() const {
  using rules::Severity;
  const auto& list = findings_.list();
  return findings_.omitted()[static_cast<std::size_t>(Severity::kError)] != 0 ||
         std::any_of(list.begin(), list.end(),
                     [](const rules::Finding& f) { return f.severity == Severity::kError; });
}

}  // namespace rpcrdma::report
