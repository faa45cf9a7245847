// Findings that follow from the totals of a capture.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

namespace {

using rules::RuleId;

// Connections that have a finding of their own about Calls without an answer.
constexpr std::uint64_t kMaxUnanswered = 1024;
constexpr const char* kUnanswered =
    "The capture may begin late or end early; if not, the responder did not answer.";

class Conclusions {
 public:
  explicit Conclusions(Report& report) : report_(report) {}

  void capture() {
    const CaptureSummary& c = report_.capture;
    if (c.file_cut_short || !c.damage.empty()) {
      add(RuleId::kCapture, c.damage.empty() ? "the file ends in the middle of a record" : c.damage,
          "What follows the damage is not in this report; capture again if it matters.");
    }
    if (c.dropped != 0) {
      add(RuleId::kCapture, fmt::format("{} packets were dropped while capturing", c.dropped),
          "Use a larger buffer or a smaller snap length.");
    }
    if (c.packets.lost_capture != 0) {
      add(RuleId::kCapture,
          fmt::format("{} packets that their receiver acknowledged are not in the capture",
                      c.packets.lost_capture),
          "Calls and data that they carried are missing here, not on the wire.");
    }
    if (c.packets.icrc_bad != 0) {
      add(RuleId::kIcrc,
          fmt::format("{} of {} packets have a wrong ICRC", c.packets.icrc_bad,
                      c.packets.icrc_bad + c.packets.icrc_good),
          c.packets.icrc_good == 0
              ? "All are wrong: the capture point sees packets before their ICRC is made, or "
                "rewrites them."
              : "Receivers drop such packets: look for a bad link, or damage to the capture file.");
    }
  }

  void unanswered() {
    std::uint64_t listed = 0;
    std::uint64_t more_calls = 0;
    std::uint64_t more_connections = 0;
    for (const Connection& c : report_.connections) {
      if (c.speaks != model::Speaks::kRpc) continue;
      for (std::size_t d = 0; d < 2; ++d) {
        const std::uint64_t count = c.direction[d].unmatched_calls;
        if (count == 0) continue;
        if (const char* why = doubt(c)) {
          withhold(RuleId::kHdr10, c.id, count, why);
          continue;
        }
        if (++listed > kMaxUnanswered) {
          more_calls += count;
          ++more_connections;
          continue;
        }
        Finding* f = add(RuleId::kHdr10,
                         fmt::format("{} Calls have no answer in the capture", count), kUnanswered);
        if (f == nullptr) continue;
        // Calls of the client are the server's to answer.
        f->connection = c.id;
        f->count = count;
        f->peer = c.side[1 - d].address;
        if (c.roles != Roles::kUnknown) f->role = d == 0 ? "server" : "client";
      }
    }
    if (more_calls == 0) return;
    Finding* f = add(RuleId::kHdr10,
                     fmt::format("{} Calls have no answer in the capture, on {} more connections",
                                 more_calls, more_connections),
                     kUnanswered);
    if (f != nullptr) f->count = more_calls;
  }

 private:
  static const char* doubt(const Connection& c) {
    if (c.side[0].counters.packets == 0 || c.side[1].counters.packets == 0) {
      return "packets of one direction are not in the capture";
    }
    return c.side[0].counters.lost_capture + c.side[1].counters.lost_capture != 0
               ? "the capture lost packets of the connection"
               : nullptr;
  }

  Finding* add(RuleId id, std::string text, const char* advice) {
    const rules::Rule& r = rules::rule(id);
    const rules::Level level = r.level(report_.profile);
    if (level == rules::Level::kOff) return nullptr;
    const auto severity = level == rules::Level::kError     ? rules::Severity::kError
                          : level == rules::Level::kWarning ? rules::Severity::kWarning
                                                            : rules::Severity::kNote;
    Finding& f = report_.findings.emplace_back();
    f.rule = r.name;
    f.severity = severity;
    f.text = std::move(text);
    f.advice = advice;
    f.concluded = true;
    return &f;
  }

  void withhold(RuleId id, std::uint32_t connection, std::uint64_t count, const char* why) {
    if (++withheld_ > kMaxUnanswered) return;
    Withheld& w = report_.withheld.emplace_back();
    w.rule = rules::rule(id).name;
    w.connection = connection;
    w.count = count;
    w.reason = why;
    w.concluded = true;
  }

  Report& report_;
  std::size_t withheld_ = 0;
};

// What decides the order, so that it is the same however a report was put together.
auto order(const Finding& f) {
  return std::tuple(f.severity, f.frames.empty() ? 0 : f.frames.front(), f.connection,
                    std::string_view(f.rule), std::string_view(f.peer), std::string_view(f.text));
}
auto order(const Withheld& w) {
  return std::tuple(w.connection, std::string_view(w.rule), std::string_view(w.reason));
}

}  // namespace

void conclude(Report& report) {
  std::erase_if(report.findings, [](const Finding& f) { return f.concluded; });
  std::erase_if(report.withheld, [](const Withheld& w) { return w.concluded; });
  Conclusions conclusions(report);
  conclusions.capture();
  conclusions.unanswered();
  const auto by_order = [](const auto& a, const auto& b) { return order(a) < order(b); };
  std::stable_sort(report.findings.begin(), report.findings.end(), by_order);
  std::stable_sort(report.withheld.begin(), report.withheld.end(), by_order);
}

}  // namespace rpcrdma::report
