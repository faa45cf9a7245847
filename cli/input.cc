#include "input.h"

#include "progress.h"

#include <cstdio>
#include <thread>

#include <fmt/format.h>

namespace rpcrdma::cli {

void complain(const std::string& text) {
  fmt::print(stderr, "rpcrdma: {}\n", text);
}

std::unique_ptr<capture::Source> open_input(const std::string& path) {
  auto source = capture::open_file(path);
  if (!source) {
    complain(source.error().message);
    return nullptr;
  }
  return std::move(*source);
}

bool run_pipeline(report::Pipeline& pipeline, capture::Source& source, const std::string& path,
                  unsigned jobs) {
  {
    Progress progress;
    const auto done = pipeline.run(
        source, [&](const capture::SourceStats& stats) { progress.tick(stats); },
        jobs != 0 ? jobs : std::thread::hardware_concurrency());
    if (!done) {
      complain(done.error().message);
      return false;
    }
  }
  pipeline.finish();
  const capture::SourceStats& stats = source.stats();
  if (!stats.damage.empty()) {
    complain(fmt::format("warning: {}: {}", path, stats.damage));
  } else if (stats.cut_short) {
    complain(fmt::format("warning: {}: the file ends in the middle of a record", path));
  }
  return true;
}

void add_jobs(CLI::App& app, unsigned& jobs) {
  app.add_option("-j,--jobs", jobs, "Threads at most (as many as there are cores)");
}

}  // namespace rpcrdma::cli
