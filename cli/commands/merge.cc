// rpcrdma merge: merges JSON reports.
#include "commands.h"
#include "input.h"
#include "report_input.h"
#include "report_output.h"

#include <memory>

#include <rpcrdma/report/merge.h>

namespace rpcrdma::cli {

namespace {

struct MergeOptions {
  std::vector<std::string> paths;
  ReportOutput output;
};

int merge(const MergeOptions& options) {
  if (!may_write(options.output, options.paths, "merge")) return kUnreadable;
  std::vector<report::Report> reports;
  for (const std::string& path : options.paths) {
    auto report = read_report(path);
    if (!report) return kUnreadable;
    reports.push_back(std::move(*report));
  }
  const auto whole = report::merge(std::move(reports), options.paths);
  if (!whole) {
    complain(whole.error());
    return kUnreadable;
  }
  return write_report(*whole, options.paths, options.output, 1);
}

}  // namespace

Run add_merge(command_line::Command& command) {
  auto options = std::make_shared<MergeOptions>();
  command
      .argument("FILE", options->paths,
                "Reports of analyze --json or merge --json; - for standard input")
      .required();
  add_report_output(command, options->output);
  command.footer(kReportStatus);
  return [options] { return merge(*options); };
}

}  // namespace rpcrdma::cli
