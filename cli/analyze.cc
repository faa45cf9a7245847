// rpcrdma analyze
#include "colour.h"
#include "commands.h"
#include "input.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::cli {

namespace {

struct Options {
  std::vector<std::string> paths;
  unsigned jobs = 0;
  bool json = false;
  rules::Profile profile = rules::Profile::k8166;
  bool all = false;
};

int analyze(const Options& options) {
  const auto source = open_input(options.paths);
  if (!source) return kUnreadable;
  report::Analysis analysis(options.profile);
  report::Pipeline pipeline(analysis, {});
  analysis.set_context({&pipeline.tracker(), &pipeline.model()});
  if (!run_pipeline(pipeline, *source, options.paths, options.jobs)) return kUnreadable;
  analysis.finish(pipeline, source->stats(), options.paths.size());
  const report::Report& report = analysis.report();
  const auto write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  };
  if (options.json) {
    report::write_json(report, write);
  } else {
    report::write_text(report, {colour_wanted(stdout), options.all}, write);
  }
  return report.has_errors() ? kFindings : kOk;
}

}  // namespace

Run add_analyze(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_files(app, options->paths)->required();
  app.add_flag("--json", options->json, "One JSON object (docs/json.md)");
  add_profile(app, options->profile);
  app.add_flag("--all", options->all, "Every connection and finding, however many");
  add_jobs(app, options->jobs);
  app.footer("Exit status: 0 clean, 1 findings of severity error, 2 unreadable.");
  return [options] { return analyze(*options); };
}

}  // namespace rpcrdma::cli
