// Writes a comparison as text for people.
#include "../fold.h"

#include <algorithm>

#include <fmt/format.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/report/compare.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

using plot::escape_terminal;

// Limits without CompareText::all.
constexpr std::size_t kProceduresCompared = 20;
constexpr std::size_t kFindingsCompared = 20;

const char* colour_of(Outcome o) {
  switch (o) {
    case Outcome::kWorse:
      return "1;31";
    case Outcome::kMixed:
      return "1;33";
    case Outcome::kSame:
    case Outcome::kBetter:
      return "1;32";
    case Outcome::kUnclear:
      break;
  }
  return "1";
}

const char* colour_of(Judgement j) {
  return j == Judgement::kSlower ? "31" : j == Judgement::kFaster ? "32" : "33";
}

class ComparisonText {
 public:
  ComparisonText(const Comparison& c, const CompareText& options) : c_(c), options_(options) {}

  std::string make(const CompareNames& names) {
    head(names);
    out_ = fold(out_, options_.width);
    latency();
    sums();
    std::string tables = std::move(out_);
    out_.clear();
    findings();
    notes();
    return tables + fold(out_, options_.width);
  }

 private:
  [[nodiscard]] std::string paint(const char* code, const std::string& text) const {
    return options_.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }

  void head(const CompareNames& names) {
    out_ += paint(colour_of(c_.outcome), escape_terminal(c_.verdict)) + '\n';
    for (const std::size_t i : {kBefore, kAfter}) {
      const CaptureSummary& s = c_.capture[i];
      out_ +=
          fmt::format("  {:<7} {}", i == kBefore ? "before" : "after", escape_terminal(names[i]));
      if (s.frames != 0) {
        out_ += fmt::format(": from {} UTC, {}", format_time(s.first_ns),
                            format_duration(s.last_ns - s.first_ns));
      }
      out_ += '\n';
    }
  }

  void row(const ProcedureChange& p, const QuantileChange* q, bool first) {
    const std::string name = first ? escape_terminal(p.label) : std::string();
    const auto calls = [&](std::size_t i) {
      return first ? fmt::format("{}", p.calls[i]) : std::string();
    };
    out_ += fmt::format("{:<28} {:>8} {:>8}  ", name, calls(kBefore), calls(kAfter));
    if (q != nullptr) {
      out_ += fmt::format("{:<4} {:>9} {:>9} {:>9}  {:<20}", quantile_name(q->q),
                          format_duration(q->before), format_duration(q->after),
                          percent_text(q->ratio), q->range ? range_text(*q->range) : "");
    } else {
      out_ += fmt::format("{:<4} {:>9} {:>9} {:>9}  {:<20}", "", "", "", "", "");
    }
    if (first) {
      const std::string result = result_text(p);
      const bool changed = p.judgement == Judgement::kSlower || p.judgement == Judgement::kFaster ||
                           p.judgement == Judgement::kMixed;
      out_ += fmt::format("  {}", changed ? paint(colour_of(p.judgement), result) : result);
    }
    out_.erase(out_.find_last_not_of(' ') + 1);
    out_ += '\n';
  }

  void latency() {
    if (c_.procedures.empty()) return;
    out_ += paint("1", fmt::format("\n{:<28} {:>8} {:>8}  {:<4} {:>9} {:>9} {:>9}  {:<20}  {}\n",
                                   "Procedure", "Calls", "after", "", "before", "after", "change",
                                   "range of change", "result"));
    std::size_t shown = 0;
    for (const ProcedureChange& p : c_.procedures) {
      if (!options_.all && ++shown > kProceduresCompared) break;
      const bool short_row = !options_.all && p.judgement == Judgement::kTooFew;
      const std::size_t rows =
          short_row ? std::min<std::size_t>(1, p.quantiles.size()) : p.quantiles.size();
      if (rows == 0) row(p, nullptr, true);
      for (std::size_t i = 0; i < rows; ++i) row(p, &p.quantiles[i], i == 0);
    }
    if (!options_.all && c_.procedures.size() > kProceduresCompared) {
      out_ += fmt::format("and {} more procedures (--all lists them)\n",
                          c_.procedures.size() - kProceduresCompared);
    }
  }

  void sums() {
    out_ += paint("1", fmt::format("\n{:<34} {:>12} {:>12}  {}\n", "Whole capture", "before",
                                   "after", "change"));
    for (const SumChange& s : c_.sums) {
      const bool zero = s.value[0].value_or(0) == 0 && s.value[1].value_or(0) == 0;
      if (zero && !options_.all) continue;
      std::string result = result_text(s);
      if (s.judgement != Judgement::kSame) result = paint(colour_of(s.judgement), result);
      out_ += fmt::format("{:<34} {:>12} {:>12}  {}", s.name, unit_text(s.unit, s.value[0]),
                          unit_text(s.unit, s.value[1]), result);
      out_.erase(out_.find_last_not_of(' ') + 1);
      out_ += '\n';
    }
  }

  void finding(const FindingChange& f) {
    const char* code = f.severity == rules::Severity::kError     ? "31"
                       : f.severity == rules::Severity::kWarning ? "33"
                                                                 : "36";
    out_ += fmt::format("  {:<5} {} {}{}: {} before, {} after", finding_change_name(f.kind),
                        paint(code, rules::severity_name(f.severity)), escape_terminal(f.rule),
                        f.role.empty() ? "" : fmt::format(", {}", escape_terminal(f.role)),
                        f.count[kBefore], f.count[kAfter]);
    const bool changed = f.kind != FindingChangeKind::kSame;
    if (changed && f.p >= kSignificance) {
      out_ += fmt::format(" (may be chance, {})", probability_text(f.p));
    }
    if (changed && f.kind != FindingChangeKind::kFewer) {
      out_ += fmt::format(": {}", escape_terminal(f.text));
    }
    out_ += '\n';
  }

  void findings() {
    const auto changed = static_cast<std::size_t>(
        std::count_if(c_.findings.begin(), c_.findings.end(),
                      [](const FindingChange& f) { return f.kind != FindingChangeKind::kSame; }));
    out_ += paint("1", "\nFindings") + (changed == 0 ? ": none new, none gone\n" : "\n");
    std::size_t shown = 0;
    for (const FindingChange& f : c_.findings) {
      if (f.kind == FindingChangeKind::kSame && !options_.all) continue;
      if (!options_.all && ++shown > kFindingsCompared) break;
      finding(f);
    }
    if (!options_.all && changed > kFindingsCompared) {
      out_ += fmt::format("  and {} more (--all lists them)\n", changed - kFindingsCompared);
    }
    const std::size_t same = c_.findings.size() - changed;
    if (!options_.all && same != 0) {
      out_ += fmt::format("  {} in both, equally frequent (--all lists them)\n", same);
    }
  }

  void notes() {
    out_ += '\n';
    for (const std::string& note : c_.notes) out_ += escape_terminal(note) + '\n';
    out_ +=
        "Two captures do not show how much equal runs differ from each other: compare two without "
        "a change, and choose --margin accordingly (docs/compare.md).\n";
  }

  const Comparison& c_;
  const CompareText& options_;
  std::string out_;
};

}  // namespace

std::string comparison_text(const Comparison& c, const CompareNames& names,
                            const CompareText& options) {
  return ComparisonText(c, options).make(names);
}

}  // namespace rpcrdma::report
