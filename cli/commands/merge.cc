// rpcrdma merge: merges JSON reports.
#include "commands.h"
#include "confined_input.h"
#include "input.h"
#include "report_input.h"
#include "report_output.h"

#include <map>
#include <memory>

#include <sys/stat.h>

#include <rpcrdma/report/merge.h>

namespace rpcrdma::cli {

namespace {

// Whether it can be read again from its start.
bool is_regular_file(const std::string& path) {
  struct stat status {};
  return path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

struct MergeOptions {
  std::vector<std::string> paths;
  ReportOutput output;
};

int merge(const MergeOptions& options) {
  if (!may_write(options.output, options.paths, "merge")) return kUnreadable;
  confine_reading(options.paths, outputs_of(options.output));
  // Pipes cannot be read twice.
  std::map<std::size_t, report::Report> from_pipes;
  const auto read = [&](std::size_t i) -> tl::expected<report::Report, std::string> {
    if (const auto known = from_pipes.find(i); known != from_pipes.end()) return known->second;
    const std::string& path = options.paths[i];
    auto report = read_report(path);
    if (report && !is_regular_file(path)) from_pipes.emplace(i, *report);
    return report;
  };
  const auto whole = report::merge(options.paths.size(), read, options.paths);
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
