#include "report_output.h"

#include "colour.h"
#include "commands.h"
#include "input.h"
#include "output_file.h"
#include "terminal.h"

#include <cstdio>
#include <filesystem>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/report/report_csv.h>
#include <rpcrdma/report/report_html.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_plots.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::cli {

namespace {

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

bool plots_wanted(const ReportOutput& output) {
  return !output.no_plots && (output.plots || isatty(fileno(stdout)) == 1);
}

}  // namespace

void add_report_output(command_line::Command& command, ReportOutput& output) {
  command_line::Option& json =
      command.flag("--json", output.json, "Print one JSON object (docs/json.md)");
  command.flag("--all", output.all, "List all connections and findings, without a limit");
  command.option("--html", output.html, "Also write a self-contained page for a browser")
      .check(names_a_file)
      .value("FILE");
  command.option("--csv", output.csv, "Also write tables into this directory (docs/csv.md)")
      .check(names_a_file)
      .value("DIR");
  command_line::Option& plots =
      command
          .flag("--plots", output.plots,
                "Print plots below the text even if standard output is not a terminal")
          .excludes(json);
  command.flag("--no-plots", output.no_plots, "Print no plots").excludes(plots);
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
    return report.has_errors() ? kFindings : kOk;
  }
  const bool colour = colour_wanted(stdout);
  report::write_text(
      report, {colour, output.all, isatty(fileno(stdout)) == 1 ? terminal_width() : 0}, write);
  if (plots_wanted(output)) {
    write(report::report_plots(report, {terminal_width(), utf8_wanted(), colour}));
  }
  return report.has_errors() ? kFindings : kOk;
}

}  // namespace rpcrdma::cli
