// Compares two reports: latency by procedure, counts, and findings, and whether the differences are
// more than noise (docs/compare.md).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>
#include <rpcrdma/report/statistics.h>

namespace rpcrdma::report {

// The index of a value of BEFORE and of AFTER.
inline constexpr std::size_t kBefore = 0;
inline constexpr std::size_t kAfter = 1;
template <typename T>
using BeforeAfter = std::array<T, 2>;

// The probability that chance alone makes any of the tests, or any of the intervals, show a
// difference: a difference is more than noise if its corrected probability is below this, or if the
// interval of its ratio excludes 1.
inline constexpr double kSignificance = 0.01;
// The quantiles by which a procedure is judged.
inline constexpr std::array kComparedQuantiles{0.5, 0.9, 0.99};

enum class Judgement : std::uint8_t {
  kSame,        // no difference beyond noise and margin
  kSlower,      // or: more
  kFaster,      // or: fewer
  kMixed,       // one quantile is slower, another faster
  kTooFew,      // too few Calls
  kOnlyBefore,  // the procedure is missing in AFTER
  kOnlyAfter,
};
[[nodiscard]] const char* judgement_name(Judgement j);  // "same", "slower", "too few", ...

struct ProcedureChange {
  ProcedureKey key;
  std::string label;  // "NFS v4 READ", "reverse NFS_CB v1 CB_RECALL"
  BeforeAfter<std::uint64_t> calls{}, answered{}, failed{}, unanswered{};
  Judgement judgement = Judgement::kTooFew;
  std::optional<RankSum> test;  // of all latencies; p is not corrected
  double p = 1;                 // corrected for the number of procedures
  // How much the latencies depend on each other; nothing: not known, taken as 1.
  BeforeAfter<std::optional<double>> effect;
  std::vector<QuantileChange> quantiles;  // kComparedQuantiles; empty: unknown on one side
};

enum class SumUnit : std::uint8_t {
  kCount,
  kSeconds,
  kPerSecond,
  kBytes,
  kBytesPerSecond,
  kShare,
  kRatio
};

// A number of the whole report. Counted events have a test.
struct SumChange {
  const char* key = "";   // "retransmitted"
  const char* name = "";  // "Packets retransmitted"
  SumUnit unit = SumUnit::kCount;
  BeforeAfter<std::optional<double>> value;  // nothing: unknown
  std::optional<double> p;                   // corrected
  // kSame, kSlower for more and kFaster for fewer of an event that is a fault.
  Judgement judgement = Judgement::kSame;
};

enum class FindingChangeKind : std::uint8_t { kNew, kMore, kSame, kFewer, kGone };
[[nodiscard]] const char* finding_change_name(FindingChangeKind kind);  // "new", "more", ...

// All findings of one rule about one role.
struct FindingChange {
  FindingChangeKind kind = FindingChangeKind::kSame;
  std::string rule;
  std::string role;  // of the peer at fault: "client"; may be empty
  rules::Severity severity = rules::Severity::kNote;
  BeforeAfter<std::uint64_t> count{};
  double p = 1;      // that the counts differ that much by chance, at equal rates per Call
  std::string text;  // of the first of them in AFTER, or in BEFORE if it is gone
};

// Limits of --fail-above and --fail-on. A limit is exceeded only by a difference beyond noise.
class CompareLimits {
 public:
  // "p99=20%", "READ:p50=10%", "retransmitted=0.1%".
  [[nodiscard]] tl::expected<void, std::string> add_above(std::string_view text);
  // "slower", "new-error", "new-warning" (or worse), "new-note" (or worse).
  [[nodiscard]] tl::expected<void, std::string> add_on(std::string_view text);
  [[nodiscard]] static std::vector<std::string> events();  // that add_on() accepts

  struct Above {
    std::string procedure;  // empty: each
    double q = 0;           // 0: a share of `sum`
    std::string sum;        // key of a SumChange: "failed"
    double most = 0;        // 0.2: 20 %
    std::string text;       // "p99"
  };
  [[nodiscard]] const std::vector<Above>& above() const { return above_; }
  [[nodiscard]] bool slower() const { return slower_; }
  [[nodiscard]] std::optional<rules::Severity> fresh() const { return fresh_; }

 private:
  std::vector<Above> above_;
  bool slower_ = false;
  std::optional<rules::Severity> fresh_;
};

struct CompareOptions {
  double margin = 0.1;  // changes of latency below this share do not matter
  CompareLimits limits;
};

// Which way the whole changed.
enum class Outcome : std::uint8_t { kSame, kWorse, kBetter, kMixed, kUnclear };
[[nodiscard]] const char* outcome_name(Outcome o);

struct Comparison {
  double margin = 0.1;
  double z = 0;  // of each interval, so that all of them hold together
  BeforeAfter<CaptureSummary> capture;
  Outcome outcome = Outcome::kUnclear;
  std::string verdict;                      // one or two sentences
  std::vector<std::string> notes;           // why the two may not be comparable
  std::vector<ProcedureChange> procedures;  // by Calls, the busiest first
  std::vector<SumChange> sums;
  std::vector<FindingChange> findings;  // new ones first, then by severity
  std::vector<std::string> failed;      // the exceeded limits, one sentence each
  std::vector<std::string> not_judged;  // limits that were not judged, and why
};

[[nodiscard]] Comparison compare(const Report& before, const Report& after,
                                 const CompareOptions& options);

// "20%" is 0.2; nothing: not a share.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

// "NFS v4 READ" is meant by "READ", "v4 READ" and the whole name, in any case.
[[nodiscard]] bool means_procedure(std::string_view label, std::string_view wanted);

// The names of the two inputs; any bytes.
using CompareNames = BeforeAfter<std::string>;

struct CompareText {
  bool colour = false;
  bool all = false;       // also lists what did not change
  std::size_t width = 0;  // columns at which sentences are folded; 0: does not fold
};
[[nodiscard]] std::string comparison_text(const Comparison& c, const CompareNames& names,
                                          const CompareText& options);
// One object and a newline.
[[nodiscard]] std::string comparison_json(const Comparison& c, const CompareNames& names);
// A page with the styles of report_html.h. `version`: of the program.
void comparison_html(const Comparison& c, const BeforeAfter<const Report*>& reports,
                     const CompareNames& names, const std::string& version,
                     const std::function<void(std::string_view)>& write);

// Forms of values that text and page share.
[[nodiscard]] std::string unit_text(SumUnit unit, const std::optional<double>& value);
[[nodiscard]] std::string percent_text(double ratio);          // 1.2: "+20 %"
[[nodiscard]] std::string range_text(const Interval& ratios);  // "+12 % to +29 %"
[[nodiscard]] std::string probability_text(double p);          // "p < 0.001", "p = 0.04"
[[nodiscard]] std::string quantile_name(double q);             // "p50", "p99.9"
[[nodiscard]] std::string result_text(const ProcedureChange& p);
[[nodiscard]] std::string result_text(const SumChange& s);

}  // namespace rpcrdma::report
