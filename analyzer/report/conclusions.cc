// Adds the findings that follow from the totals of a capture.
#include "capture_quality.h"
#include "outages.h"
#include "text/sessions_text.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report.h>
#include <rpcrdma/report/view_text.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sort.h>

namespace rpcrdma::report {

namespace {

using rules::RuleId;

// Distinct from those of rules::capture_caveats().
constexpr std::uint32_t kCoalescedTopic = 22;
constexpr std::uint32_t kSnaplenTopic = 23;
constexpr std::uint32_t kViewsTopic = 40;
constexpr std::uint32_t kClientTopic = 1;
// Findings of OUTAGE; the verdict's numbers count all.
constexpr std::size_t kMaxOutages = 64;
constexpr const char* kViewsAdvice =
    "A message that its sender shows and its receiver does not was lost or refused between them, "
    "or the connection broke before it arrived. Bytes that differ were changed on the way, or a "
    "file is damaged.";

class Conclusions {
 public:
  explicit Conclusions(Report& report) : report_(report) {}

  void capture() {
    const CaptureSummary& c = report_.capture;
    if (c.file_cut_short || !c.damage.empty()) {
      add(RuleId::kCapture, c.damage.empty() ? "the file ends within a record" : c.damage,
          "Capture again if you need the damaged part of the file: it is not in this report.");
    }
    if (c.dropped != 0) {
      const char* const what =
          c.packets.roce + c.packets.iwarp == 0 && report_.recording.any() ? "event" : "packet";
      add(RuleId::kCapture,
          fmt::format("{} {}{} dropped while capturing", c.dropped, what,
                      c.dropped == 1 ? " was" : "s were"),
          "Use a larger buffer (rpcrdma capture -B 512, tcpdump -B 524288) or a smaller snapshot "
          "length, and check for free disk space.");
    }
    const rules::CaptureGaps gaps = capture_quality_of(report_).gaps;
    // Truncated messages have a finding of their own below; truncated data needs none.
    const bool headers_cut = c.cut_short + c.packets.headers_cut + c.packets.cm_cut != 0;
    if (c.snaplen != 0 && (headers_cut || none_found()) && gaps.cut_short.amount == 0) {
      add(RuleId::kCapture, snaplen_text(c),
          "Capture with a larger snapshot length: tcpdump -s 0 or rpcrdma capture --snaplen 0 keep "
          "whole packets, 512 bytes hold the CM messages and most headers. Rules about the missing "
          "bytes were not checked.",
          kSnaplenTopic);
    }
    // As under "Capture quality": losses of other traffic count only if RPC-over-RDMA has
    // none.
    const std::uint64_t lost = gaps.lost.amount != 0 ? gaps.lost.amount : c.packets.lost_capture;
    if (lost != 0) {
      add(RuleId::kCapture, rules::lost_packets(lost),
          "Capture with a larger buffer (rpcrdma capture -B 512, tcpdump -B 524288): Calls and "
          "data in "
          "these packets are missing here, not on the wire.");
    }
    if (c.packets.coalesced != 0) {
      add(RuleId::kCapture, rules::coalesced_packets(c.packets.coalesced), rules::kUnglue,
          kCoalescedTopic);
    }
    for (rules::CaptureCaveat& d : rules::capture_caveats(gaps, report_.not_listed.connections)) {
      add(RuleId::kCapture, std::move(d.text), d.advice, d.topic);
    }
    if (std::string paused = rules::paused_text(c.pauses); !paused.empty()) {
      add(RuleId::kCongestion, std::move(paused), rules::kPauseAdvice, 0, rules::Level::kNote);
    }
    views();
    std::vector<Outage> all = outages(report_);
    if (all.size() > kMaxOutages) all.resize(kMaxOutages);
    for (const Outage& o : all) outage(o);
    slow_calls();
    backchannels();
    if (c.packets.icrc_bad != 0) {
      add(RuleId::kIcrc,
          fmt::format("{} of {} packets have an invalid ICRC", c.packets.icrc_bad,
                      c.packets.icrc_bad + c.packets.icrc_good),
          rules::icrc_advice(c.packets));
    }
    if (c.packets.crc_bad != 0) {
      add(RuleId::kIcrc, rules::bad_crcs(c.packets), rules::kCrcAdvice, rules::kCrcTopic);
    }
  }

  void outage(const Outage& o) {
    Finding* const f = add(RuleId::kOutage, outage_text(o));
    if (f == nullptr) return;
    f->connection = o.lost->id;
    f->spans = {{o.from_ns, o.successor != nullptr ? o.until_ns : 0}};
    if (o.lost->closed_frame != 0) f->frames.push_back(o.lost->closed_frame);
    if (o.first_refused != nullptr) f->frames.push_back(o.first_refused->closed_frame);
    if (o.successor != nullptr) {
      f->frames.push_back(o.successor->forward_replies.first_frame);
    }
    std::sort(f->frames.begin(), f->frames.end());
  }

  // One finding for each connection and limit, and one for each client with several connections.
  void slow_calls() {
    std::map<std::pair<std::string, SlowLimit>, std::vector<const LimitedCalls*>> of_client;
    for (const LimitedCalls& c : report_.timing.limited) {
      of_client[{c.client, c.limit}].push_back(&c);
      if (c.slow == 0) continue;
      Finding* const f = add(RuleId::kSlowCall, slow_text(c));
      if (f == nullptr) return;
      f->connection = c.connection;
      f->frames = c.frames;
    }
    for (const auto& [key, list] : of_client) {
      if (list.size() < 2 || key.first.empty()) continue;
      LimitedCalls sum;
      sum.limit = key.second;
      for (const LimitedCalls* c : list) sum.add(*c);
      if (sum.slow == 0) continue;
      Finding* const f =
          add(RuleId::kSlowCall,
              fmt::format("client {}, {} connections: {}", key.first, list.size(), slow_text(sum)),
              kClientTopic);
      if (f == nullptr) return;
      f->frames = sum.frames;
    }
  }

  static std::string slow_text(const LimitedCalls& c) {
    std::string text = fmt::format("{} of {} {}, the worst {} in frame {}", c.slow, c.calls,
                                   limit_text(c.limit), format_duration(c.worst_ns), c.worst_frame);
    if (c.unanswered != 0) text += fmt::format("; {} without an answer", c.unanswered);
    return text;
  }

  // One finding for each session whose server reported that its callbacks do not get through: a
  // note unless the client holds what a server recalls.
  void backchannels() {
    for (const mounts::Mount& m : report_.mounts.list) {
      if (m.backchannel.down_replies == 0) continue;
      const bool needed = m.backchannel.down_at_end && m.delegations + m.layouts.granted != 0;
      Finding* const f = add(RuleId::kCbPathDown, backchannel_down_text(m),
                             rules::rule(RuleId::kCbPathDown).advice, 0,
                             needed ? rules::Level::kWarning : rules::Level::kNote);
      if (f == nullptr) return;
      f->count = m.backchannel.down_replies;
      f->frames = {m.backchannel.down_first_frame};
      if (m.backchannel.down_last_frame != m.backchannel.down_first_frame) {
        f->frames.push_back(m.backchannel.down_last_frame);
      }
    }
  }

  // One finding for each connection whose views disagree, unless a view is known to miss something.
  void views() {
    for (const Connection& c : report_.connections) {
      for (const session::View& v : c.views) {
        std::uint64_t content = 0;
        for (const session::ViewCounts& k : v.counts) content += k.differ;
        if (content == 0 &&
            (disagreements(v) == 0 || v.missing != 0 || c.events_lost != 0 ||
             c.side[0].counters.lost_capture + c.side[1].counters.lost_capture != 0))
          continue;
        std::string text = fmt::format("two views of the connection differ: {}", view_name(v));
        for (const std::string& part : view_text(v)) text += "; " + part;
        Finding* const f = add(RuleId::kCapture, std::move(text), kViewsAdvice, kViewsTopic);
        if (f == nullptr) continue;
        f->connection = c.id;
        for (const session::ViewDifference& d : v.differences) {
          if (f->frames.size() < rules::kMaxFrames)
            f->frames.push_back(d.frame != 0 ? d.frame : d.other_frame);
        }
        std::sort(f->frames.begin(), f->frames.end());
        f->count = disagreements(v);
      }
    }
  }

 private:
  Finding* add(RuleId id, std::string text, std::uint32_t topic = 0) {
    return add(id, std::move(text), rules::rule(id).advice, topic);
  }

  Finding* add(RuleId id, std::string text, const char* advice, std::uint32_t topic = 0,
               rules::Level at_most = rules::Level::kError) {
    const rules::Rule& r = rules::rule(id);
    const rules::Level level = r.level(report_.profile);
    if (level == rules::Level::kOff) return nullptr;
    Finding& f = report_.findings.emplace_back();
    f.rule = r.name;
    f.severity = rules::severity_of(std::min(level, at_most));
    f.text = std::move(text);
    f.advice = advice;
    f.topic = topic;
    f.concluded = true;
    return &f;
  }

  [[nodiscard]] bool none_found() const {
    const auto& kinds = report_.messages.kinds;
    return std::all_of(kinds.begin(), kinds.end(), [](std::uint64_t n) { return n == 0; });
  }

  Report& report_;
};

// The sort keys. They make the order independent of how reports were merged.
auto order(const Finding& f) {
  return std::tuple(f.severity, f.frames.empty() ? 0 : f.frames.front(), f.connection,
                    std::string_view(f.rule), std::string_view(f.peer), std::string_view(f.text));
}
auto order(const Inconclusive& w) {
  return std::tuple(w.connection, std::string_view(w.rule), std::string_view(w.reason));
}

}  // namespace

void conclude(Report& report) {
  std::erase_if(report.findings, [](const Finding& f) { return f.concluded; });
  Conclusions(report).capture();
  const auto by_order = [](const auto& a, const auto& b) { return order(a) < order(b); };
  rules::sort_by_place(report.findings, by_order);
  rules::sort_by_place(report.inconclusive, by_order);
}

}  // namespace rpcrdma::report
