// rpcrdma decode
#include "commands.h"
#include "input.h"
#include "message_printer.h"

#include <memory>

namespace rpcrdma::cli {

namespace {

struct Options {
  std::vector<std::string> paths;
  unsigned jobs = 0;
  PrintOptions print;
};

int decode(Options& options) {
  // Of a file every line of JSON is a message; `analyze` has what belongs to none.
  options.print.own_findings = !options.print.json;
  options.print.wait_for_findings = true;
  const auto printer = make_printer(options.print, "decode");
  if (!printer) return kUnreadable;
  report::Pipeline pipeline(printer->observer(), printer->keep(), &printer->events());
  printer->set_pipeline(pipeline);
  const auto source = open_input(options.paths);
  if (!source) return kUnreadable;
  const bool done = run_pipeline(pipeline, *source, options.paths, options.jobs);
  printer->finish(pipeline.dropped(source->stats()));
  return done ? kOk : kUnreadable;
}

}  // namespace

Run add_decode(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_files(app, options->paths)->required();
  add_print_options(app, options->print);
  add_jobs(app, options->jobs);
  return [options] { return decode(*options); };
}

}  // namespace rpcrdma::cli
