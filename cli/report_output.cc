#include "report_output.h"

#include "colour.h"
#include "commands.h"
#include "input.h"
#include "output_file.h"
#include "terminal.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/report/report_csv.h>
#include <rpcrdma/report/report_html.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_plots.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::cli {

namespace {

constexpr std::array kSeverities{rules::Severity::kError, rules::Severity::kWarning,
                                 rules::Severity::kNote};

std::string title_of(const std::vector<std::string>& paths) {
  constexpr std::size_t kNamed = 3;
  std::string title;
  for (std::size_t i = 0; i < std::min(paths.size(), kNamed); ++i) {
    const std::string name = paths[i] == "-" ? std::string("standard input")
                                             : std::filesystem::path(paths[i]).filename().string();
    title += fmt::format("{}{}", i == 0 ? "" : ", ", name);
  }
  if (paths.size() > kNamed) title += fmt::format(" and {} more", paths.size() - kNamed);
  return title;
}

bool write_csv(const report::Report& report, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    complain(fmt::format("{}: {}", folder, error.message()));
    return false;
  }
  for (const report::Table table : report::kTables) {
    const std::string path = (std::filesystem::path(folder) / report::table_file(table)).string();
    if (!write_file(path, [&](const Write& write) { report::write_csv(report, table, write); })) {
      return false;
    }
  }
  return true;
}

// Standard output carries the report itself.
std::string names_a_file(const std::string& name) {
  return name.empty() || name == "-" ? "needs the name of a file or directory" : "";
}

int status_of(const report::Report& report, rules::Severity fail_on) {
  const auto is_severe = [&](const report::Finding& f) { return f.severity <= fail_on; };
  if (std::any_of(report.findings.begin(), report.findings.end(), is_severe)) return kFindings;
  // Sources that contradict each other.
  if (report.ends && !report.ends->contradictions.empty() && rules::Severity::kWarning <= fail_on) {
    return kFindings;
  }
  for (const rules::Severity s : kSeverities) {
    const bool any = report.findings_omitted[static_cast<std::size_t>(s)] != 0;
    if (s <= fail_on && any) return kFindings;
  }
  return kOk;
}

bool plots_wanted(const ReportOutput& output) {
  return !output.by && !output.no_plots && (output.plots || isatty(fileno(stdout)) == 1);
}

}  // namespace

void add_report_output(command_line::Command& command, ReportOutput& output) {
  command_line::Option& json =
      command.flag("--json", output.json, "Print one JSON object (docs/json.md)");
  std::vector<std::string> tables;
  for (const report::LatencyBy by : report::kLatencyTables) {
    tables.emplace_back(report::latency_by_name(by));
  }
  command
      .option(
          "--by",
          [&output](const std::string& name) {
            for (const report::LatencyBy by : report::kLatencyTables) {
              if (name == report::latency_by_name(by)) output.by = by;
            }
          },
          "Print only the latency table of connections, clients, servers, procedures or sizes")
      .one_of(std::move(tables))
      .value("WHAT")
      .excludes(json);
  command.flag("--all", output.all, "List all connections and findings, without a limit");
  command
      .option("--files", output.files,
              "List so many of the busiest files, by time and by bytes, or \"all\"")
      .check([](const std::string& most) -> std::string {
        return most == "all" || base::parse_u32(most) ? "" : "not a number, and not \"all\"";
      })
      .value("N")
      .show_default();
  command.option("--html", output.html, "Also write a self-contained page for a browser")
      .check(names_a_file)
      .value("FILE");
  command.option("--csv", output.csv, "Also write tables into this directory (docs/csv.md)")
      .check(names_a_file)
      .value("DIR");
  command
      .option(
          "--fail-on",
          [&output](const std::string& name) {
            for (const rules::Severity s : kSeverities) {
              if (name == rules::severity_name(s)) output.fail_on = s;
            }
          },
          "Exit with status 1 for findings of this severity or above: note, warning or error "
          "(the default)")
      .value("SEVERITY")
      .one_of({"note", "warning", "error"});
  command_line::Option& plots =
      command
          .flag("--plots", output.plots,
                "Print plots below the text even if standard output is not a terminal")
          .excludes(json);
  command.flag("--no-plots", output.no_plots, "Print no plots").excludes(plots);
}

std::vector<std::string> outputs_of(const ReportOutput& output) {
  std::vector<std::string> all;
  for (const std::string& path : {output.html, output.csv}) {
    if (!path.empty()) all.push_back(path);
  }
  return all;
}

bool may_write(const ReportOutput& output, const std::vector<std::string>& paths,
               const char* command) {
  if (output.html.empty() || !is_input(output.html, paths)) return true;
  complain(
      fmt::format("{}: --html: {}: is an input, so it cannot be the output", command, output.html));
  return false;
}

int write_report(const report::Report& report, const std::vector<std::string>& paths,
                 const ReportOutput& output, unsigned jobs) {
  if (!output.csv.empty() && !write_csv(report, output.csv)) return kUnreadable;
  if (!output.html.empty()) {
    const report::HtmlOptions options{title_of(paths), RPCRDMA_VERSION};
    if (!write_file(output.html,
                    [&](const Write& write) { report::write_html(report, options, write); })) {
      return kUnreadable;
    }
  }
  const Write write = buffered_stdout();
  if (output.json) {
    report::write_json(report, write, jobs != 0 ? jobs : std::thread::hardware_concurrency());
    return status_of(report, output.fail_on);
  }
  const bool colour = colour_wanted(stdout);
  const bool terminal = isatty(fileno(stdout)) == 1;
  const std::size_t files =
      output.all ? SIZE_MAX : base::parse_u32(output.files).value_or(UINT32_MAX);
  const report::TextOptions options{colour, output.all, terminal ? terminal_width() : 0, files,
                                    output.by};
  report::write_text(report, options, write);
  if (plots_wanted(output)) {
    write(report::report_plots(report, {terminal_width(), utf8_wanted(), colour}));
  }
  if (terminal) {
    write("\n");
    report::write_verdict(report, options, write);
  }
  return status_of(report, output.fail_on);
}

}  // namespace rpcrdma::cli
