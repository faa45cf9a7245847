// Adds the findings that follow from the totals of a capture.
#include "capture_quality.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/report/report.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sort.h>

namespace rpcrdma::report {

namespace {

using rules::RuleId;

constexpr std::uint32_t kCoalescedTopic = 22;  // distinct from those of rules::capture_caveats()

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
      const char* const what = c.packets.roce == 0 && report_.recording.any() ? "event" : "packet";
      add(RuleId::kCapture,
          fmt::format("{} {}{} dropped while capturing", c.dropped, what,
                      c.dropped == 1 ? " was" : "s were"),
          "Use a larger buffer or a smaller snapshot length, and check for free disk space.");
    }
    const rules::CaptureGaps gaps = capture_quality_of(report_).gaps;
    // As under "Capture quality": losses of other traffic count only if RPC-over-RDMA has
    // none.
    const std::uint64_t lost = gaps.lost.amount != 0 ? gaps.lost.amount : c.packets.lost_capture;
    if (lost != 0) {
      add(RuleId::kCapture, rules::lost_packets(lost),
          "Capture with a larger buffer: Calls and data in these packets are missing here, not on "
          "the wire.");
    }
    if (c.packets.coalesced != 0) {
      add(RuleId::kCapture, rules::coalesced_packets(c.packets.coalesced), rules::kUnglue,
          kCoalescedTopic);
    }
    for (rules::CaptureCaveat& d : rules::capture_caveats(gaps, report_.not_listed.connections)) {
      add(RuleId::kCapture, std::move(d.text), d.advice, d.topic);
    }
    if (c.packets.icrc_bad != 0) {
      add(RuleId::kIcrc,
          fmt::format("{} of {} packets have an invalid ICRC", c.packets.icrc_bad,
                      c.packets.icrc_bad + c.packets.icrc_good),
          rules::icrc_advice(c.packets));
    }
  }

 private:
  void add(RuleId id, std::string text, const char* advice, std::uint32_t topic = 0) {
    const rules::Rule& r = rules::rule(id);
    const rules::Level level = r.level(report_.profile);
    if (level == rules::Level::kOff) return;
    Finding& f = report_.findings.emplace_back();
    f.rule = r.name;
    f.severity = rules::severity_of(level);
    f.text = std::move(text);
    f.advice = advice;
    f.topic = topic;
    f.concluded = true;
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
