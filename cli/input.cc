#include "input.h"

#include <cstdio>

#include <fmt/format.h>

#include "progress.h"

namespace rpcrdma::cli {

void complain(const std::string& text) { fmt::print(stderr, "rpcrdma: {}\n", text); }

std::unique_ptr<capture::Source> open_input(const std::string& path) {
  auto source = capture::open_file(path);
  if (!source) {
    complain(source.error().message);
    return nullptr;
  }
  return std::move(*source);
}

bool run_pipeline(report::Pipeline& pipeline, capture::Source& source, const std::string& path) {
  {
    Progress progress;
    const auto done = pipeline.run(source, [&] { progress.tick(source.stats()); });
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

}  // namespace rpcrdma::cli
