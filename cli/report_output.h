// Report output, shared by `analyze` and `merge`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/report/latency_table.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::cli {

struct ReportOutput {
  bool json = false;
  bool all = false;
  bool plots = false;
  bool no_plots = false;
  std::optional<report::LatencyBy> by;  // print only this table
  std::string files = "10";             // how many files the text lists, or "all"
  std::string html;                     // a file; empty: none
  std::string csv;                      // a directory; empty: none
  rules::Severity fail_on = rules::Severity::kError;
};

// The exit statuses, for the help.
inline constexpr const char* kReportStatus =
    "Exit status: 0 no finding as severe as --fail-on, or more; 1 such a finding; 2 an input "
    "cannot "
    "be read, an output cannot be written or an argument is invalid.";

void add_report_output(command_line::Command& command, ReportOutput& output);

// Writes the requested files, and text or JSON to standard output. `paths`: the report's inputs,
// for its title. `jobs`: maximum number of threads; 0: as many as there are cores. Returns the exit
// status; if it is kUnreadable, the error was reported.
[[nodiscard]] int write_report(const report::Report& report, const std::vector<std::string>& paths,
                               const ReportOutput& output, unsigned jobs);

// The files and folders that write_report() writes.
[[nodiscard]] std::vector<std::string> outputs_of(const ReportOutput& output);

// Returns false, after reporting it, if an output would overwrite an input. Called before anything
// is read.
[[nodiscard]] bool may_write(const ReportOutput& output, const std::vector<std::string>& paths,
                             const char* command);

}  // namespace rpcrdma::cli
