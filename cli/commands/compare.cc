// rpcrdma compare: compares two captures or reports.
#include "colour.h"
#include "commands.h"
#include "confined_input.h"
#include "filter_option.h"
#include "input.h"
#include "output_file.h"
#include "report_input.h"
#include "terminal.h"

#include <memory>
#include <optional>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/compare.h>

namespace rpcrdma::cli {

namespace {

struct ComparedOptions {
  std::string before;
  std::string after;
  unsigned jobs = 0;
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;
  bool no_icrc = false;
  std::string filter;
  std::string margin = "10%";
  std::vector<std::string> above;
  std::vector<std::string> on;
  bool json = false;
  bool all = false;
  std::string html;
};

std::optional<report::Report> analyze_input(const ComparedOptions& o, const std::string& path) {
  const std::vector<std::string> paths{path};
  std::optional<filter::Filter> filter;
  if (!read_filter(o.filter, "compare", filter)) return std::nullopt;
  const auto source = open_input(paths);
  if (!source) return std::nullopt;
  report::Analysis analysis({.profile = o.profile,
                             .model = {.dialect = o.dialect, .check_icrc = !o.no_icrc},
                             .filter = std::move(filter),
                             .filter_text = o.filter});
  if (!run_pipeline(analysis.pipeline(), *source, paths, o.jobs)) return std::nullopt;
  analysis.finish(source->stats(), paths.size());
  return analysis.report();
}

std::optional<report::Report> read_either(const ComparedOptions& o, const std::string& path,
                                          bool& is_load) {
  return looks_like_report(path) ? read_report_or_load(path, is_load) : analyze_input(o, path);
}

bool parse_limits(const ComparedOptions& o, report::CompareOptions& to) {
  const auto margin = report::parse_share(o.margin);
  if (!margin) {
    complain(fmt::format("compare: --margin: \"{}\" is not a share such as 10%", o.margin));
    return false;
  }
  to.margin = *margin;
  for (const std::string& text : o.above) {
    if (const auto added = to.limits.add_above(text); !added) {
      complain(fmt::format("compare: --fail-above: {}", added.error()));
      return false;
    }
  }
  for (const std::string& text : o.on) {
    if (const auto added = to.limits.add_on(text); !added) {
      complain(fmt::format("compare: --fail-on: {}", added.error()));
      return false;
    }
  }
  return true;
}

int compare(const ComparedOptions& o) {
  report::CompareOptions options;
  if (!parse_limits(o, options)) return kUnreadable;
  if (o.before == "-" && o.after == "-") {
    complain("compare: only one of the two can be standard input");
    return kUnreadable;
  }
  if (!o.html.empty() && is_input(o.html, {o.before, o.after})) {
    complain(fmt::format("compare: --html: {}: is an input, so it cannot be the output", o.html));
    return kUnreadable;
  }
  bool load_before = false;
  bool load_after = false;
  confine_opening();
  const auto before = read_either(o, o.before, load_before);
  if (!before) return kUnreadable;
  const auto after = read_either(o, o.after, load_after);
  if (!after) return kUnreadable;
  report::Comparison comparison = report::compare(*before, *after, options);
  if (load_before != load_after) {
    comparison.notes.push_back(fmt::format(
        "{} is of load: its latencies count from when a Call was due, and include the client's "
        "waiting.",
        load_before ? "BEFORE" : "AFTER"));
  }
  const report::CompareNames names{o.before == "-" ? "standard input" : o.before,
                                   o.after == "-" ? "standard input" : o.after};
  if (!o.html.empty() && !write_file(o.html, [&](const Write& write) {
        report::comparison_html(comparison, {&*before, &*after}, names, RPCRDMA_VERSION, write);
      })) {
    return kUnreadable;
  }
  const Write write = buffered_stdout();
  if (o.json) {
    write(report::comparison_json(comparison, names));
  } else {
    write(report::comparison_text(
        comparison, names,
        {colour_wanted(stdout), o.all, isatty(fileno(stdout)) == 1 ? terminal_width() : 0}));
  }
  for (const std::string& text : comparison.not_judged) {
    complain(fmt::format("compare: not judged: {}", text));
  }
  for (const std::string& text : comparison.failed) complain(fmt::format("compare: {}", text));
  return comparison.failed.empty() ? kOk : kFindings;
}

}  // namespace

Run add_compare(command_line::Command& command) {
  auto options = std::make_shared<ComparedOptions>();
  command
      .argument("BEFORE", options->before,
                "A capture, or the output of analyze --json, merge --json or load --json; - for "
                "such output on standard input")
      .required();
  command.argument("AFTER", options->after, "Likewise").required();
  add_profile(command, options->profile);
  add_dialect(command, options->dialect);
  add_icrc(command, options->no_icrc);
  add_filter(command, options->filter, "Count only Calls and Replies of captures");
  command
      .option("--margin", options->margin,
              "Smallest change of a latency that counts as slower or faster")
      .value("SHARE")
      .show_default();
  command
      .option("--fail-above", options->above,
              "Exit with status 1 if a latency rose by more than this share, and beyond noise: "
              "p99=20%, READ:p50=10% (p50, p90, p95, p99, p99.9, p99.99); or if a share rose by "
              "more than so many percentage points: retransmitted=0.1% (failed, unanswered, "
              "retransmitted)")
      .value("LIMIT")
      .delimiter(',')
      .one_word();
  command
      .option("--fail-on", options->on,
              "Exit with status 1 if a procedure is slower, or if there is a new finding of this "
              "severity or a worse one")
      .value("EVENT")
      .one_of(report::CompareLimits::events())
      .delimiter(',')
      .one_word();
  command.flag("--all", options->all, "List what did not change, too");
  command.flag("--json", options->json, "Print one JSON object (docs/json.md)");
  command.option("--html", options->html, "Also write a self-contained page for a browser")
      .check([](const std::string& name) {
        return name.empty() || name == "-" ? "needs the name of a file" : "";
      })
      .value("FILE");
  add_jobs(command, options->jobs);
  add_vxlan_ports(command);
  command.footer(
      "Exit status: 0 no limit is exceeded, 1 a limit is exceeded, 2 an input cannot be read or an "
      "output cannot be written.");
  command.example("rpcrdma compare monday.pcap tuesday.json --fail-above p99=20%",
                  "Exit with 1 if the p99 of a procedure rose by more than 20 %.");
  return [options] { return compare(*options); };
}

}  // namespace rpcrdma::cli
