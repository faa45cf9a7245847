// rpcrdma analyze: reports the verdict, findings and statistics of a capture.
#include "commands.h"
#include "filter_option.h"
#include "input.h"
#include "report_output.h"

#include <memory>
#include <optional>

#include <rpcrdma/report/analysis.h>

namespace rpcrdma::cli {

namespace {

struct AnalyzeOptions {
  std::vector<std::string> paths;
  unsigned jobs = 0;
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;
  std::string filter;
  ReportOutput output;
};

int analyze(const AnalyzeOptions& options) {
  std::optional<filter::Filter> filter;
  if (!read_filter(options.filter, "analyze", filter)) return kUnreadable;
  if (!may_write(options.output, options.paths, "analyze")) return kUnreadable;
  const auto source = open_input(options.paths);
  if (!source) return kUnreadable;
  // Never destroyed: the process exits with the command, and the kernel reclaims its memory faster
  // than destructors could free it piece by piece.
  static auto& analysis = *new report::Analysis({.profile = options.profile,
                                                 .model = {.dialect = options.dialect},
                                                 .filter = std::move(filter),
                                                 .filter_text = options.filter});
  if (!run_pipeline(analysis.pipeline(), *source, options.paths, options.jobs)) return kUnreadable;
  analysis.finish(source->stats(), options.paths.size());
  return write_report(analysis.report(), options.paths, options.output, options.jobs);
}

}  // namespace

Run add_analyze(command_line::Command& command) {
  auto options = std::make_shared<AnalyzeOptions>();
  add_files(command, options->paths).required();
  add_profile(command, options->profile);
  add_dialect(command, options->dialect);
  add_filter(command, options->filter, "Count only Calls and Replies");
  add_report_output(command, options->output);
  add_jobs(command, options->jobs);
  command.footer(
      "Exit status: 0 clean, 1 findings of severity error, 2 an input cannot be read or an output "
      "cannot be written.");
  command.example("rpcrdma analyze /var/tmp/nfs_*.pcapng",
                  "Read the files of a ring as one capture.");
  return [options] { return analyze(*options); };
}

}  // namespace rpcrdma::cli
