// The ways in which a report is given out: what `analyze` and `merge` have in common.
#pragma once

#include <string>
#include <vector>

#include <rpcrdma/command_line/command.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::cli {

struct ReportOutput {
  bool json = false;
  bool all = false;
  bool plots = false;
  bool no_plots = false;
  std::string html;  // a file; empty: none
  std::string csv;   // a folder; empty: none
};

void add_report_output(command_line::Command& command, ReportOutput& output);

// Writes the files that are asked for, and text or JSON to standard output. `paths`: what the
// report was made of, for its title. `jobs`: threads at most; 0: as many as there are cores. Gives
// the exit status; has complained where that is kUnreadable.
[[nodiscard]] int write_report(const report::Report& report, const std::vector<std::string>& paths,
                               const ReportOutput& output, unsigned jobs);

// Before anything is read: false, and a complaint by the command, where a file that is to be read
// would be written over.
[[nodiscard]] bool may_write(const ReportOutput& output, const std::vector<std::string>& paths,
                             const char* command);

}  // namespace rpcrdma::cli
