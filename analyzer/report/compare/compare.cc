#include "../capture_quality.h"
#include "../in_flight.h"
#include "dependence.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/report/compare.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

using Reports = BeforeAfter<const Report*>;

std::string label_of(const ProcedureKey& key, const Procedure& p) {
  return key.reverse ? fmt::format("reverse {}", p.label) : p.label;
}

const Procedure& procedure(const Report& r, const ProcedureKey& key) {
  static const Procedure none;
  const auto at = r.procedures.find(key);
  return at == r.procedures.end() ? none : at->second;
}

Dependence dependence(const Report& r, const ProcedureKey& key) {
  const auto& all = r.latencies.procedures;
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const ProcedureSeries& s) { return s.procedure == key; });
  if (at == all.end()) return {};
  std::vector<Dependence::Counts> bins;
  for (std::int64_t n = at->series.first(); n <= at->series.last(); ++n) {
    Dependence::Counts& bin = bins.emplace_back();
    std::copy_n(at->series.bin(n).counts.begin(), bin.size(), bin.begin());
  }
  return Dependence(bins);
}

// Compares the latencies of one procedure in two reports.
class ComparedLatency {
 public:
  ComparedLatency(const Reports& reports, const ProcedureKey& key)
      : total_{&procedure(*reports[0], key).total, &procedure(*reports[1], key).total},
        dependence_{dependence(*reports[0], key), dependence(*reports[1], key)} {}

  [[nodiscard]] std::optional<RankSum> test() const {
    return rank_sum(*total_[0], *total_[1], {dependence_[0].of_ranks(), dependence_[1].of_ranks()});
  }
  [[nodiscard]] std::optional<QuantileChange> change(double q, double z) const {
    Effects effects{1, 1};
    for (std::size_t i = 0; i < 2; ++i) {
      effects[i] = dependence_[i].of_quantile(q, total_[i]->quantile(q));
    }
    return quantile_change(*total_[0], *total_[1], q, z, effects);
  }
  [[nodiscard]] std::optional<double> effect(std::size_t side) const {
    return dependence_[side].known() ? std::optional(dependence_[side].of_ranks()) : std::nullopt;
  }

 private:
  BeforeAfter<const base::Histogram*> total_;
  BeforeAfter<Dependence> dependence_;
};

std::uint64_t without(std::uint64_t unmatched, std::uint64_t flying) {
  return unmatched - std::min(unmatched, flying);
}

ProcedureChange change_of(const Reports& reports, const ProcedureKey& key) {
  ProcedureChange c;
  c.key = key;
  for (const std::size_t i : {kBefore, kAfter}) {
    const Procedure& p = procedure(*reports[i], key);
    if (c.label.empty() && !p.label.empty()) c.label = label_of(key, p);
    c.calls[i] = p.calls;
    c.answered[i] = p.total.count();
    c.failed[i] = p.errors;
    c.unanswered[i] =
        p.unmatched == 0 ? 0 : without(p.unmatched, counted_in_flight(*reports[i], key));
  }
  const ComparedLatency latency(reports, key);
  c.test = latency.test();
  c.effect = {latency.effect(kBefore), latency.effect(kAfter)};
  if (c.test) c.p = c.test->p;
  return c;
}

bool enough(const ProcedureChange& c, double q) {
  const std::uint64_t wanted = observations_for(q);
  return c.answered[kBefore] >= wanted && c.answered[kAfter] >= wanted;
}

Judgement judge(const ProcedureChange& c, double margin) {
  if (c.calls[kAfter] == 0 && c.answered[kAfter] == 0) return Judgement::kOnlyBefore;
  if (c.calls[kBefore] == 0 && c.answered[kBefore] == 0) return Judgement::kOnlyAfter;
  if (!enough(c, 0.5)) return Judgement::kTooFew;
  bool slower = false;
  bool faster = false;
  for (const QuantileChange& q : c.quantiles) {
    if (!q.certain()) continue;
    slower = slower || q.ratio >= 1 + margin;
    faster = faster || q.ratio <= 1 / (1 + margin);
  }
  if (slower && faster) return Judgement::kMixed;
  return slower ? Judgement::kSlower : faster ? Judgement::kFaster : Judgement::kSame;
}

void note_unknown_dependence(Comparison& c) {
  const auto unknown =
      std::count_if(c.procedures.begin(), c.procedures.end(), [](const ProcedureChange& p) {
        return p.judgement <= Judgement::kMixed && !(p.effect[kBefore] && p.effect[kAfter]);
      });
  if (unknown == 0) return;
  c.notes.push_back(fmt::format(
      "How much Calls of one run depend on each other is not known for {} {}: they count as "
      "independent, so ranges are too narrow, and one stall can look like a difference.",
      unknown, unknown == 1 ? "procedure" : "procedures"));
}

void procedures(Comparison& c, const Reports& reports) {
  std::set<ProcedureKey> keys;
  for (const Report* r : reports) {
    for (const auto& [key, p] : r->procedures) keys.insert(key);
  }
  std::vector<double*> tests;
  std::size_t intervals = 0;
  c.procedures.reserve(keys.size());
  for (const ProcedureKey& key : keys) {
    ProcedureChange& one = c.procedures.emplace_back(change_of(reports, key));
    if (enough(one, 0.5)) tests.push_back(&one.p);
    for (const double q : kComparedQuantiles) intervals += enough(one, q) ? 1 : 0;
  }
  correct_for_many(tests);
  c.z = z_of(kSignificance / static_cast<double>(std::max<std::size_t>(intervals, 1)));
  for (ProcedureChange& one : c.procedures) {
    const ComparedLatency latency(reports, one.key);
    for (const double q : kComparedQuantiles) {
      const auto change = latency.change(q, c.z);
      if (change) one.quantiles.push_back(*change);
    }
    one.judgement = judge(one, c.margin);
  }
  note_unknown_dependence(c);
  std::stable_sort(c.procedures.begin(), c.procedures.end(),
                   [](const ProcedureChange& a, const ProcedureChange& b) {
                     return a.calls[0] + a.calls[1] > b.calls[0] + b.calls[1];
                   });
}

// The totals of one report.
struct Totals {
  double seconds = 0;
  std::uint64_t calls = 0, failed = 0, unanswered = 0;
  std::uint64_t frames = 0;  // 0: the output of a load, which shows no connections
  // Of connections; a filter does not apply to them.
  std::uint64_t connections = 0, refused = 0, all_calls = 0;
  std::array<std::uint64_t, 3> chunks{}, chunk_bytes{};
  std::uint64_t inline_bytes = 0;
  bool chunks_known = true, operations_known = true, lengths_known = true;
  std::uint64_t packets = 0, retransmitted = 0, naks = 0;
  bool refusals_known = true;
  std::uint32_t granted_min = 0, granted_max = 0, in_use_max = 0;
  std::uint64_t with_credits = 0, at_limit = 0;
};

void add_packets(Totals& t, const Connection& c) {
  if (c.lacks(roce::kAbsentRefusals)) t.refusals_known = false;
  for (const EndPoint& side : c.side) {
    if (side.resends_unseen || side.counters.packets == 0) continue;
    t.packets +=
        side.counters.packets - std::min(side.counters.packets, side.counters.captured_twice);
    t.retransmitted += side.counters.retransmitted;
    t.naks += side.counters.rnr;
    for (const std::uint64_t n : side.counters.naks) t.naks += n;
  }
}

void add_credits(Totals& t, const Connection& c) {
  for (const Direction& d : c.direction) {
    t.all_calls += d.calls;
    if (d.calls == 0 || !d.granted_known || d.granted_max == 0) continue;
    t.granted_min = t.with_credits == 0 ? d.granted_min : std::min(t.granted_min, d.granted_min);
    t.granted_max = std::max(t.granted_max, d.granted_max);
    t.in_use_max = std::max(t.in_use_max, d.in_use_max);
    ++t.with_credits;
    if (d.in_use_max >= d.granted_max) ++t.at_limit;
  }
}

Totals totals_of(const Report& r) {
  Totals t;
  if (r.capture.last_ns > r.capture.first_ns) {
    t.seconds = static_cast<double>(r.capture.last_ns - r.capture.first_ns) / 1e9;
  }
  std::uint64_t unmatched = 0;
  for (const auto& [key, p] : r.procedures) {
    t.calls += p.calls;
    t.failed += p.errors;
    unmatched += p.unmatched;
  }
  t.unanswered = without(unmatched, counted_in_flight(r));
  t.frames = r.capture.frames;
  t.connections = r.connections.size() + r.not_listed.connections;
  for (const Connection& c : r.connections) {
    if (c.state == roce::State::kRejected) ++t.refused;
    if (c.speaks != model::Speaks::kRpc) continue;
    for (std::size_t i = 0; i < t.chunks.size(); ++i) {
      t.chunks[i] += c.chunks[i];
      t.chunk_bytes[i] += c.chunk_bytes[i];
    }
    t.inline_bytes += c.inline_bytes;
    t.chunks_known = t.chunks_known && !c.lacks(roce::kAbsentChunks);
    t.operations_known = t.operations_known && !c.lacks(roce::kAbsentOperations);
    t.lengths_known = t.lengths_known && !c.lacks(roce::kAbsentLengths);
    add_credits(t, c);
    add_packets(t, c);
  }
  return t;
}

std::optional<double> ratio(double a, double b) {
  return b > 0 ? std::optional(a / b) : std::nullopt;
}

class Sums {
 public:
  Sums(Comparison& c, const Reports& reports)
      : c_(c), totals_{totals_of(*reports[0]), totals_of(*reports[1])} {}

  void make() {
    add("seconds", "Captured time", SumUnit::kSeconds,
        [](const Totals& t) { return ratio(t.seconds, 1); });
    add("calls", "Calls", SumUnit::kCount, [](const Totals& t) { return number(t.calls); });
    add("calls_per_second", "Calls per second", SumUnit::kPerSecond,
        [](const Totals& t) { return ratio(static_cast<double>(t.calls), t.seconds); });
    add("bytes_per_second", "Bytes per second", SumUnit::kBytesPerSecond, [](const Totals& t) {
      return t.all_calls != 0 && t.operations_known && t.lengths_known ? ratio(moved(t), t.seconds)
                                                                       : std::nullopt;
    });
    events("failed", "Calls that failed", [](const Totals& t) {
      return Events{t.failed, t.calls};
    });
    events("unanswered", "Calls without an answer", [](const Totals& t) {
      return Events{t.unanswered, t.calls};
    });
    events("retransmitted", "Packets retransmitted", [](const Totals& t) {
      return Events{t.retransmitted, t.refusals_known ? t.packets : 0};
    });
    events("naks", "NAKs and RNR NAKs", [](const Totals& t) {
      return Events{t.naks, t.refusals_known ? t.packets : 0};
    });
    add("connections", "Connections", SumUnit::kCount,
        [](const Totals& t) { return t.frames != 0 ? number(t.connections) : std::nullopt; });
    add("connections_refused", "Connections refused", SumUnit::kCount,
        [](const Totals& t) { return t.frames != 0 ? number(t.refused) : std::nullopt; });
    credits();
    chunks();
    correct();
  }

 private:
  struct Events {
    std::uint64_t count;
    std::uint64_t of;
  };

  static std::optional<double> number(std::uint64_t n) { return static_cast<double>(n); }
  static double moved(const Totals& t) {
    return static_cast<double>(t.inline_bytes) + static_cast<double>(t.chunk_bytes[0]) +
           static_cast<double>(t.chunk_bytes[1]) + static_cast<double>(t.chunk_bytes[2]);
  }

  template <typename Function>
  SumChange& add(const char* key, const char* name, SumUnit unit, Function&& value) {
    SumChange& s = c_.sums.emplace_back();
    s.key = key;
    s.name = name;
    s.unit = unit;
    s.value = {value(totals_[0]), value(totals_[1])};
    return s;
  }

  // Events that are faults, and the occasions on which they could have happened.
  template <typename Function>
  void events(const char* key, const char* name, Function&& of) {
    const BeforeAfter<Events> e{of(totals_[0]), of(totals_[1])};
    SumChange& s = add(key, name, SumUnit::kShare, [&](const Totals& t) {
      const Events one = of(t);
      return ratio(static_cast<double>(one.count), static_cast<double>(one.of));
    });
    if (!s.value[0] || !s.value[1]) return;
    s.p = rates_differ({e[0].count, e[1].count},
                       {static_cast<double>(e[0].of), static_cast<double>(e[1].of)});
  }

  void credits() {
    const auto credit = [](std::uint32_t Totals::*which) {
      return [which](const Totals& t) {
        return t.with_credits == 0 ? std::nullopt : number(t.*which);
      };
    };
    add("credits_granted_min", "Credits granted, least", SumUnit::kCount,
        credit(&Totals::granted_min));
    add("credits_granted_max", "Credits granted, most", SumUnit::kCount,
        credit(&Totals::granted_max));
    add("credits_in_use_max", "Credits in use, most", SumUnit::kCount, credit(&Totals::in_use_max));
    add("credits_exhausted", "Connections that used all credits", SumUnit::kShare,
        [](const Totals& t) {
          return ratio(static_cast<double>(t.at_limit), static_cast<double>(t.with_credits));
        });
  }

  void chunks() {
    constexpr std::array<std::array<const char*, 4>, 3> kNames{
        {{"read_chunks", "Read chunks per Call", "read_bytes", "Bytes by Read chunks per Call"},
         {"write_chunks", "Write chunks per Call", "write_bytes", "Bytes by Write chunks per Call"},
         {"reply_chunks", "Reply chunks per Call", "reply_bytes",
          "Bytes by Reply chunks per Call"}}};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      add(kNames[i][0], kNames[i][1], SumUnit::kRatio, [i](const Totals& t) {
        return t.chunks_known
                   ? ratio(static_cast<double>(t.chunks[i]), static_cast<double>(t.all_calls))
                   : std::nullopt;
      });
      add(kNames[i][2], kNames[i][3], SumUnit::kBytes, [i](const Totals& t) {
        return t.operations_known
                   ? ratio(static_cast<double>(t.chunk_bytes[i]), static_cast<double>(t.all_calls))
                   : std::nullopt;
      });
    }
    add("inline_bytes", "Bytes inline per Call", SumUnit::kBytes, [](const Totals& t) {
      return t.lengths_known
                 ? ratio(static_cast<double>(t.inline_bytes), static_cast<double>(t.all_calls))
                 : std::nullopt;
    });
    add("inline_share", "Inline share of all bytes", SumUnit::kShare, [](const Totals& t) {
      return t.operations_known && t.lengths_known
                 ? ratio(static_cast<double>(t.inline_bytes), moved(t))
                 : std::nullopt;
    });
  }

  void correct() {
    std::vector<double*> tests;
    for (SumChange& s : c_.sums) {
      if (s.p) tests.push_back(&*s.p);
    }
    correct_for_many(tests);
    for (SumChange& s : c_.sums) {
      if (!s.p || *s.p >= kSignificance) continue;
      s.judgement = *s.value[1] > *s.value[0] ? Judgement::kSlower : Judgement::kFaster;
    }
  }

  Comparison& c_;
  BeforeAfter<Totals> totals_;
};

double exposure(const Report& r) {
  const auto messages =
      std::accumulate(r.messages.kinds.begin(), r.messages.kinds.end(), std::uint64_t{0});
  return static_cast<double>(messages != 0 ? messages
                                           : std::max<std::uint64_t>(r.capture.frames, 1));
}

FindingChangeKind kind_of(const FindingChange& f) {
  if (f.count[kBefore] == 0) return FindingChangeKind::kNew;
  if (f.count[kAfter] == 0) return FindingChangeKind::kGone;
  return FindingChangeKind::kSame;
}

void findings(Comparison& c, const Reports& reports) {
  std::map<std::pair<std::string, std::string>, FindingChange> all;
  for (const std::size_t i : {kAfter, kBefore}) {
    for (const Finding& f : reports[i]->findings) {
      const auto [at, added] = all.try_emplace({f.rule, f.role});
      FindingChange& change = at->second;
      if (added) {
        change.rule = f.rule;
        change.role = f.role;
        change.severity = f.severity;
        change.text = f.text;
      }
      change.severity = std::min(change.severity, f.severity);
      change.count[i] += f.count;
    }
  }
  const std::array<double, 2> of{exposure(*reports[0]), exposure(*reports[1])};
  std::vector<double*> tests;
  for (auto& [key, f] : all) {
    f.p = rates_differ(f.count, of);
    tests.push_back(&f.p);
  }
  correct_for_many(tests);
  for (auto& [key, f] : all) {
    f.kind = kind_of(f);
    if (f.kind == FindingChangeKind::kSame && f.p < kSignificance) {
      f.kind = static_cast<double>(f.count[kAfter]) * of[kBefore] >
                       static_cast<double>(f.count[kBefore]) * of[kAfter]
                   ? FindingChangeKind::kMore
                   : FindingChangeKind::kFewer;
    }
    c.findings.push_back(std::move(f));
  }
  std::stable_sort(c.findings.begin(), c.findings.end(),
                   [](const FindingChange& a, const FindingChange& b) {
                     return std::pair(a.kind, a.severity) < std::pair(b.kind, b.severity);
                   });
}

void notes(Comparison& c, const Reports& reports) {
  const Report& a = *reports[kBefore];
  const Report& b = *reports[kAfter];
  const auto filter = [](const Report& r) {
    return r.filter.empty() ? std::string("none") : fmt::format("\"{}\"", r.filter);
  };
  if (a.filter != b.filter) {
    c.notes.push_back(fmt::format("The filters differ: {} and {}.", filter(a), filter(b)));
  }
  if (a.profile != b.profile) {
    c.notes.push_back(
        fmt::format("The profiles differ ({} and {}), so findings can differ for that "
                    "reason.",
                    profile_name(a.profile), profile_name(b.profile)));
  }
  const auto recorded = [](const Report& r) {
    return r.capture.frames != 0 && r.capture.events == r.capture.frames;
  };
  if (recorded(a) != recorded(b)) {
    c.notes.push_back(fmt::format(
        "{} comes from packets and {} from events of endpoints: their latencies are measured at "
        "different points.",
        recorded(a) ? "AFTER" : "BEFORE", recorded(a) ? "BEFORE" : "AFTER"));
  }
  for (const std::size_t i : {kBefore, kAfter}) {
    const CaptureQuality q = capture_quality_of(*reports[i]);
    if (q.damaged || q.gaps.lost.amount != 0 || reports[i]->capture.dropped != 0 ||
        q.gaps.cut_short.amount != 0 || q.gaps.one_sided.amount != 0 ||
        q.gaps.events_lost.amount != 0) {
      c.notes.push_back(
          fmt::format("The capture of {} is incomplete: what is missing from it is in "
                      "no count.",
                      i == kBefore ? "BEFORE" : "AFTER"));
    }
  }
}

const char* quantile_in_words(double q) {
  return q == 0.5 ? "p50" : q == 0.9 ? "p90" : "p99";
}

// "NFS v4 READ (p50 +99 %, p99 +20 %)"
std::string named(const ProcedureChange& p, double margin) {
  std::string text;
  for (const QuantileChange& q : p.quantiles) {
    if (!q.certain() || (q.ratio < 1 + margin && q.ratio > 1 / (1 + margin))) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", quantile_in_words(q.q),
                        percent_text(q.ratio));
  }
  return fmt::format("{} ({})", p.label, text);
}

std::string listed(const Comparison& c, Judgement judgement) {
  constexpr std::size_t kMost = 3;
  std::string text;
  std::size_t n = 0;
  for (const ProcedureChange& p : c.procedures) {
    if (p.judgement != judgement || ++n > kMost) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", named(p, c.margin));
  }
  if (n > kMost) text += fmt::format(" and {} more", n - kMost);
  return text;
}

// "2 new errors (FC-01, HDR-02)"
std::string listed(const Comparison& c, FindingChangeKind kind, rules::Severity severity,
                   std::string_view before, std::string_view behind) {
  constexpr std::size_t kMost = 4;
  std::string names;
  std::size_t n = 0;
  std::set<std::string_view> seen;
  for (const FindingChange& f : c.findings) {
    if (f.kind != kind || f.severity != severity || !seen.insert(f.rule).second) continue;
    if (++n <= kMost) names += fmt::format("{}{}", names.empty() ? "" : ", ", f.rule);
  }
  if (n == 0) return {};
  if (n > kMost) names += ", ...";
  return fmt::format("{}{}{}{}{} ({})", n, before, rules::severity_name(severity),
                     n == 1 ? "" : "s", behind, names);
}

struct Trend {
  bool worse = false;
  bool better = false;
  bool judged = false;
};

Trend trend_of(const Comparison& c) {
  Trend t;
  for (const ProcedureChange& p : c.procedures) {
    t.worse = t.worse || p.judgement == Judgement::kSlower || p.judgement == Judgement::kMixed;
    t.better = t.better || p.judgement == Judgement::kFaster || p.judgement == Judgement::kMixed;
    t.judged = t.judged || p.judgement <= Judgement::kMixed;
  }
  for (const SumChange& s : c.sums) {
    t.worse = t.worse || s.judgement == Judgement::kSlower;
    t.better = t.better || s.judgement == Judgement::kFaster;
  }
  for (const FindingChange& f : c.findings) {
    if (f.severity == rules::Severity::kNote) continue;
    t.worse = t.worse || f.kind <= FindingChangeKind::kMore;
    t.better = t.better || f.kind >= FindingChangeKind::kFewer;
  }
  return t;
}

void judge_whole(Comparison& c) {
  const Trend trend = trend_of(c);
  c.outcome = trend.worse && trend.better ? Outcome::kMixed
              : trend.worse               ? Outcome::kWorse
              : trend.better              ? Outcome::kBetter
              : trend.judged              ? Outcome::kSame
                                          : Outcome::kUnclear;
  std::vector<std::string> parts;
  const auto add = [&parts](std::string text) {
    if (!text.empty()) parts.push_back(std::move(text));
  };
  const auto add_named = [&](const char* what, Judgement j) {
    const std::string names = listed(c, j);
    if (!names.empty()) add(fmt::format("{}: {}", what, names));
  };
  add_named("slower", Judgement::kSlower);
  add_named("slower in part and faster in part", Judgement::kMixed);
  add_named("faster", Judgement::kFaster);
  if (parts.empty()) {
    const auto judged =
        std::count_if(c.procedures.begin(), c.procedures.end(),
                      [](const ProcedureChange& p) { return p.judgement == Judgement::kSame; });
    if (judged != 0) {
      add(c.margin == 0
              ? std::string("no procedure is slower or faster beyond noise")
              : fmt::format("no procedure is slower or faster by {:.3g} % or more beyond noise",
                            100 * c.margin));
    } else {
      add("too few Calls to judge latency");
    }
  }
  for (const rules::Severity s : {rules::Severity::kError, rules::Severity::kWarning}) {
    add(listed(c, FindingChangeKind::kNew, s, " new ", ""));
    add(listed(c, FindingChangeKind::kMore, s, " more frequent ", ""));
    add(listed(c, FindingChangeKind::kGone, s, " ", " gone"));
  }
  for (const SumChange& s : c.sums) {
    if (s.judgement == Judgement::kSame) continue;
    add(fmt::format("{}: {} before, {} after", s.name, unit_text(s.unit, s.value[0]),
                    unit_text(s.unit, s.value[1])));
  }
  for (const std::string& part : parts) {
    c.verdict += fmt::format("{}{}", c.verdict.empty() ? "" : "; ", part);
  }
  c.verdict += '.';
  c.verdict.front() =
      static_cast<char>(std::toupper(static_cast<unsigned char>(c.verdict.front())));
}

// The limit on a quantile of one procedure. Returns false if there are too few Calls to judge it.
bool check(Comparison& c, const Reports& reports, const CompareLimits::Above& limit,
           const ProcedureChange& p) {
  const auto change = ComparedLatency(reports, p.key).change(limit.q, c.z);
  if (!change || !change->range) return false;
  if (change->ratio > 1 + limit.most && change->range->low > 1) {
    c.failed.push_back(fmt::format("{}: {} rose by {} ({} to {}), above {:.4g} %", p.label,
                                   limit.text, percent_text(change->ratio).substr(1),
                                   format_duration(change->before), format_duration(change->after),
                                   100 * limit.most));
  }
  return true;
}

// The limit on a quantile of each procedure that it means.
void check_quantile(Comparison& c, const Reports& reports, const CompareLimits::Above& limit) {
  std::uint64_t meant = 0;
  std::uint64_t too_few = 0;
  for (const ProcedureChange& p : c.procedures) {
    const bool named = !limit.procedure.empty();
    if (named && !means_procedure(p.label, limit.procedure)) continue;
    ++meant;
    if (p.answered[kBefore] == 0 || p.answered[kAfter] == 0) {
      // Without a name, it is a limit on what both have.
      if (!named) continue;
      c.not_judged.push_back(fmt::format("{} {}: no Call is answered in {}", p.label, limit.text,
                                         p.answered[kBefore] == 0 ? "BEFORE" : "AFTER"));
    } else if (!check(c, reports, limit, p)) {
      ++too_few;
      if (!named) continue;
      c.not_judged.push_back(fmt::format("{} {}: too few Calls, {} and {}; {} are needed", p.label,
                                         limit.text, p.answered[kBefore], p.answered[kAfter],
                                         observations_for(limit.q)));
    }
  }
  if (!limit.procedure.empty() && meant == 0) {
    c.not_judged.push_back(
        fmt::format("{}:{}: neither has Calls of this procedure", limit.procedure, limit.text));
  } else if (limit.procedure.empty() && too_few != 0) {
    c.not_judged.push_back(fmt::format("{} of {} {}: too few Calls; {} are needed", limit.text,
                                       too_few, too_few == 1 ? "procedure" : "procedures",
                                       observations_for(limit.q)));
  }
}

void check(Comparison& c, const CompareLimits::Above& limit) {
  for (const SumChange& s : c.sums) {
    if (limit.sum != s.key) continue;
    if (!s.value[0] || !s.value[1]) {
      c.not_judged.push_back(fmt::format("{}: not known", limit.sum));
    } else if (s.judgement == Judgement::kSlower && *s.value[1] - *s.value[0] > limit.most) {
      c.failed.push_back(fmt::format("{}: {} before, {} after; the rise is above {:.4g} %", s.name,
                                     unit_text(s.unit, s.value[0]), unit_text(s.unit, s.value[1]),
                                     100 * limit.most));
    }
  }
}

void check(Comparison& c, const Reports& reports, const CompareLimits& limits) {
  for (const CompareLimits::Above& limit : limits.above()) {
    if (!limit.sum.empty()) {
      check(c, limit);
      continue;
    }
    check_quantile(c, reports, limit);
  }
  if (limits.slower()) {
    for (const ProcedureChange& p : c.procedures) {
      if (p.judgement != Judgement::kSlower && p.judgement != Judgement::kMixed) continue;
      c.failed.push_back(fmt::format("slower: {}", named(p, c.margin)));
    }
  }
  if (!limits.fresh()) return;
  for (const FindingChange& f : c.findings) {
    if (f.kind != FindingChangeKind::kNew || f.severity > *limits.fresh()) continue;
    c.failed.push_back(fmt::format("new {}: {}{}", rules::severity_name(f.severity), f.rule,
                                   f.role.empty() ? "" : fmt::format(" ({})", f.role)));
  }
}

}  // namespace

bool means_procedure(std::string_view label, std::string_view wanted) {
  if (wanted.empty() || wanted.size() > label.size()) return false;
  const std::string_view end = label.substr(label.size() - wanted.size());
  const bool whole_word =
      end.size() == label.size() || label[label.size() - wanted.size() - 1] == ' ';
  return whole_word && std::equal(end.begin(), end.end(), wanted.begin(), [](char a, char b) {
           return std::toupper(static_cast<unsigned char>(a)) ==
                  std::toupper(static_cast<unsigned char>(b));
         });
}

Comparison compare(const Report& before, const Report& after, const CompareOptions& options) {
  Comparison c;
  c.margin = options.margin;
  c.capture = {before.capture, after.capture};
  const Reports reports{&before, &after};
  notes(c, reports);
  procedures(c, reports);
  Sums(c, reports).make();
  findings(c, reports);
  judge_whole(c);
  check(c, reports, options.limits);
  return c;
}

}  // namespace rpcrdma::report
