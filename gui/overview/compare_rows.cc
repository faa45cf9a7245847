#include "compare_rows.h"

#include "words.h"

#include <algorithm>

namespace rpcrdma::gui {

namespace {

using report::Judgement;

// An arrow besides the words, so that the direction is seen at once.
QString marked(Judgement judgement, const QString& text) {
  switch (judgement) {
    case Judgement::kSlower:
      return QString(u8"▲ ") + text;
    case Judgement::kFaster:
      return QString(u8"▼ ") + text;
    case Judgement::kMixed:
      return QString(u8"▲▼ ") + text;
    case Judgement::kSame:
    case Judgement::kTooFew:
    case Judgement::kOnlyBefore:
    case Judgement::kOnlyAfter:
      break;
  }
  return text;
}

std::vector<BarTable::Cell> latency_row(const report::ProcedureChange& p,
                                        const report::QuantileChange* q, bool first) {
  std::vector<BarTable::Cell> row(9);
  for (const std::size_t column : {1, 2, 4, 5, 6}) row[column].right = true;
  if (first) {
    row[0].text = Words::plain(p.label);
    row[1].text = Words::count(p.calls[report::kBefore]);
    row[2].text = Words::count(p.calls[report::kAfter]);
    row[8].text = marked(p.judgement, Words::plain(report::result_text(p)));
  }
  if (q == nullptr) return row;
  row[3].text = QString::fromStdString(report::quantile_name(q->q));
  row[4].text = Words::duration(q->before);
  row[5].text = Words::duration(q->after);
  const auto most = static_cast<double>(std::max<std::int64_t>({1, q->before, q->after}));
  row[4].bar = static_cast<double>(q->before) / most;
  row[5].bar = static_cast<double>(q->after) / most;
  row[6].text = QString::fromStdString(report::percent_text(q->ratio));
  if (q->range) row[7].text = QString::fromStdString(report::range_text(*q->range));
  return row;
}

}  // namespace

LatencyRows latency_rows(const report::Comparison& comparison) {
  LatencyRows made;
  const std::size_t shown = std::min(comparison.procedures.size(), kMostComparedProcedures);
  made.more = comparison.procedures.size() - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const report::ProcedureChange& p = comparison.procedures[i];
    if (p.quantiles.empty()) {
      made.rows.push_back(latency_row(p, nullptr, true));
      made.of.push_back(i);
    }
    for (std::size_t q = 0; q < p.quantiles.size(); ++q) {
      made.rows.push_back(latency_row(p, &p.quantiles[q], q == 0));
      made.of.push_back(i);
    }
  }
  return made;
}

CellRows sum_rows(const report::Comparison& comparison) {
  CellRows rows;
  for (const report::SumChange& s : comparison.sums) {
    if (s.value[0].value_or(0) == 0 && s.value[1].value_or(0) == 0) continue;
    rows.push_back(
        {{.text = s.name},
         {.text = QString::fromStdString(report::unit_text(s.unit, s.value[0])), .right = true},
         {.text = QString::fromStdString(report::unit_text(s.unit, s.value[1])), .right = true},
         {.text = marked(s.judgement, QString::fromStdString(report::result_text(s)))}});
  }
  return rows;
}

FindingRows finding_rows(const report::Comparison& comparison) {
  FindingRows made;
  const std::size_t shown = std::min(comparison.findings.size(), kMostComparedFindings);
  made.more = comparison.findings.size() - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const report::FindingChange& f = comparison.findings[i];
    QString change = report::finding_change_name(f.kind);
    if (f.kind == report::FindingChangeKind::kSame) change = Words::tr("in both");
    if (f.kind != report::FindingChangeKind::kSame && f.p >= report::kSignificance) {
      change += Words::tr(" (may be chance, %1)")
                    .arg(QString::fromStdString(report::probability_text(f.p)));
    }
    made.rows.push_back({{.text = change},
                         {.text = Words::plain(f.rule), .sign = sign_of(f.severity)},
                         {.text = Words::plain(f.role)},
                         {.text = Words::count(f.count[report::kBefore]), .right = true},
                         {.text = Words::count(f.count[report::kAfter]), .right = true},
                         {.text = Words::plain(f.text)}});
  }
  return made;
}

Sign sign_of(report::Outcome outcome) {
  switch (outcome) {
    case report::Outcome::kWorse:
    case report::Outcome::kMixed:
      return Sign::kWarning;
    case report::Outcome::kSame:
    case report::Outcome::kBetter:
      return Sign::kGood;
    case report::Outcome::kUnclear:
      break;
  }
  return Sign::kUnknown;
}

}  // namespace rpcrdma::gui
