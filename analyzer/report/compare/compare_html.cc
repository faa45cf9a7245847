// Writes a comparison as one page, with the styles of a report's page.
#include "../html/html.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/report/compare.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

using html::Table;
using Align = Table::Align;

// Procedures with a chart, the busiest.
constexpr std::size_t kMostCurves = 8;

const char* class_of(Outcome o) {
  switch (o) {
    case Outcome::kWorse:
      return "error";
    case Outcome::kMixed:
      return "warning";
    case Outcome::kSame:
    case Outcome::kBetter:
      return "good";
    case Outcome::kUnclear:
      break;
  }
  return "note";
}

const char* class_of(Judgement j) {
  return j == Judgement::kSlower ? "error" : j == Judgement::kFaster ? "good" : "warning";
}

std::string tag(const char* severity, const std::string& text) {
  return fmt::format("<span class=\"tag {}\">{}</span>", severity, html::text(text));
}

std::string changed(Judgement j, const std::string& text) {
  const bool differs = j == Judgement::kSlower || j == Judgement::kFaster || j == Judgement::kMixed;
  return differs ? tag(class_of(j), text) : html::text(text);
}

std::string page_head(const Comparison& c, const CompareNames& names) {
  const std::string title = html::text(fmt::format("{} and {}", names[kBefore], names[kAfter]));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}: comparison</title>\n<style>{}{}</style>\n</head>\n<body>\n<header>\n"
      "<h1>{}</h1>\n<p class=\"sub\">Comparison of RPC-over-RDMA traffic</p>\n",
      title, html::style_sheet(), plot::svg_styles(), title);
  out += fmt::format("<p class=\"verdict {}\">{}</p>\n<dl class=\"facts\">\n", class_of(c.outcome),
                     html::text(c.verdict));
  for (const std::size_t i : {kBefore, kAfter}) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", i == kBefore ? "Before" : "After",
                       c.capture[i].frames == 0
                           ? "no frames"
                           : fmt::format("{} UTC", format_time(c.capture[i].first_ns)));
  }
  return out + "</dl>\n";
}

std::string latency_section(const Comparison& c) {
  Table table("Latency before and after");
  table.column("Procedure", Align::kLeft)
      .column("Result", Align::kLeft)
      .column("Calls before", Align::kRight)
      .column("Calls after", Align::kRight);
  for (const double q : kComparedQuantiles) {
    table.column(q == 0.5   ? "p50"
                 : q == 0.9 ? "p90"
                            : "p99",
                 Align::kRight, "Before and after")
        .column("change", Align::kRight)
        .column("range", Align::kRight, "That contains the true change, unless chance misleads");
  }
  for (std::size_t i = 0; i < std::min(c.procedures.size(), html::kMostProcedures); ++i) {
    const ProcedureChange& p = c.procedures[i];
    table.row();
    table.cell(p.label);
    table.markup(changed(p.judgement, result_text(p)));
    table.count(p.calls[kBefore]);
    table.count(p.calls[kAfter]);
    for (std::size_t n = 0; n < kComparedQuantiles.size(); ++n) {
      if (n >= p.quantiles.size()) {
        for (int empty = 0; empty < 3; ++empty) table.cell("");
        continue;
      }
      const QuantileChange& q = p.quantiles[n];
      table.cell(fmt::format("{} / {}", format_duration(q.before), format_duration(q.after)),
                 static_cast<double>(q.after));
      table.cell(percent_text(q.ratio), q.ratio);
      table.cell(q.range ? range_text(*q.range) : "too few Calls", q.range ? q.range->low : 0);
    }
  }
  const std::string body = table.take();
  if (body.empty()) return {};
  return html::section(
      "latency", "Latency",
      body + (c.procedures.size() > html::kMostProcedures
                  ? html::aside(fmt::format("And {} more procedures with fewer Calls.",
                                            c.procedures.size() - html::kMostProcedures))
                  : std::string()));
}

plot::Chart curves_of(const ProcedureChange& p, const BeforeAfter<const Report*>& reports) {
  plot::Chart chart;
  chart.title = p.label;
  chart.description = "Latency of each percentile, before and after.";
  chart.x_unit = plot::Unit::kCount;
  chart.y_unit = plot::Unit::kSeconds;
  chart.y_log = true;
  chart.x_end = 100;
  for (const std::size_t i : {kBefore, kAfter}) {
    plot::Series& series = chart.series.emplace_back();
    series.name = i == kBefore ? "before" : "after";
    const auto at = reports[i]->procedures.find(p.key);
    if (at == reports[i]->procedures.end() || at->second.total.count() == 0) continue;
    for (int percent = 0; percent <= 100; ++percent) {
      const std::int64_t ns = at->second.total.quantile(percent / 100.0);
      series.points.push_back(
          {static_cast<double>(percent), static_cast<double>(ns) / 1e9, format_duration(ns)});
    }
  }
  return chart;
}

std::string curves_section(const Comparison& c, const BeforeAfter<const Report*>& reports) {
  html::Figures figures("curve");
  std::size_t n = 0;
  for (const ProcedureChange& p : c.procedures) {
    if (p.answered[kBefore] == 0 || p.answered[kAfter] == 0) continue;
    if (++n > kMostCurves) break;
    figures.add(curves_of(p, reports));
  }
  if (figures.empty()) return {};
  return html::section(
      "percentiles", "Latency by percentile",
      figures.take() + html::aside("The horizontal axis counts percentiles: at 50, "
                                   "half of the Calls are faster."));
}

std::string sums_section(const Comparison& c) {
  Table table("Whole captures before and after");
  table.column("", Align::kLeft)
      .column("Before", Align::kRight)
      .column("After", Align::kRight)
      .column("Change", Align::kLeft);
  for (const SumChange& s : c.sums) {
    table.row();
    table.cell(s.name);
    for (const auto& value : s.value) table.cell(unit_text(s.unit, value), value.value_or(-1));
    table.markup(changed(s.judgement, result_text(s)));
  }
  return html::section("sums", "Whole capture", table.take());
}

std::string findings_section(const Comparison& c) {
  Table table("Findings before and after");
  table.column("Change", Align::kLeft)
      .column("Severity", Align::kLeft)
      .column("Rule", Align::kLeft)
      .column("Role", Align::kLeft)
      .column("Before", Align::kRight)
      .column("After", Align::kRight)
      .column("Text", Align::kLeft);
  for (std::size_t i = 0; i < std::min(c.findings.size(), html::kMostFindings); ++i) {
    const FindingChange& f = c.findings[i];
    table.row();
    const bool worse = f.kind == FindingChangeKind::kNew || f.kind == FindingChangeKind::kMore;
    table.markup(f.kind == FindingChangeKind::kSame
                     ? html::text(finding_change_name(f.kind))
                     : tag(worse ? "error" : "good", finding_change_name(f.kind)));
    table.markup(tag(rules::severity_name(f.severity), rules::severity_name(f.severity)));
    table.cell(f.rule);
    table.cell(f.role);
    table.count(f.count[kBefore]);
    table.count(f.count[kAfter]);
    table.cell(f.text);
  }
  const std::string body = table.take();
  return html::section("findings", "Findings",
                       body.empty() ? html::aside("None, neither before nor after.") : body);
}

std::string limits_section(const Comparison& c) {
  std::string list;
  for (const std::string& text : c.failed) list += fmt::format("<li>{}</li>\n", html::text(text));
  for (const std::string& text : c.not_judged) {
    list += fmt::format("<li>not judged: {}</li>\n", html::text(text));
  }
  if (list.empty()) return {};
  return html::section("limits", "Limits",
                       fmt::format("<div class=\"finding {}\"><ul>\n{}</ul></div>\n",
                                   c.failed.empty() ? "note" : "error", list));
}

}  // namespace

void comparison_html(const Comparison& c, const BeforeAfter<const Report*>& reports,
                     const CompareNames& names, const std::string& version,
                     const std::function<void(std::string_view)>& write) {
  write(page_head(c, names));
  write("</header>\n<main>\n");
  write(limits_section(c));
  write(latency_section(c));
  write(curves_section(c, reports));
  write(sums_section(c));
  write(findings_section(c));
  std::string notes;
  for (const std::string& note : c.notes) notes += html::aside(html::text(note));
  notes += html::aside(
      "Two captures do not show how much equal runs differ from each other: compare two without a "
      "change, and choose the margin accordingly.");
  write(html::section("notes", "Notes", notes));
  write(
      fmt::format("</main>\n<footer>Generated by rpcrdma {}.</footer>\n<script>{}</script>\n"
                  "</body>\n</html>\n",
                  html::text(version), html::script()));
}

}  // namespace rpcrdma::report
