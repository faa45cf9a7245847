#include "input.h"

#include "huge_heap.h"
#include "progress.h"

#include <cstdio>
#include <thread>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

void complain(const std::string& text) {
  fmt::print(stderr, "rpcrdma: {}\n", plot::escape_terminal(text));
}

command_line::Option& add_files(command_line::Command& command, std::vector<std::string>& paths) {
  return command.argument("FILE", paths,
                          "Capture files, merged into one by time; - for standard input");
}

std::unique_ptr<capture::Source> open_input(const std::vector<std::string>& paths) {
  auto source = capture::open_files(paths);
  if (!source) {
    complain(source.error().message);
    return nullptr;
  }
  // The size of a pipe is unknown.
  constexpr std::uint64_t kLargeInput = std::uint64_t{4} << 20;
  const std::uint64_t bytes = (*source)->stats().bytes_total;
  if (bytes == 0 || bytes >= kLargeInput) use_huge_pages();
  return std::move(*source);
}

bool run_pipeline(session::Pipeline& pipeline, capture::Source& source,
                  const std::vector<std::string>& paths, unsigned jobs) {
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
  // With several files, the damage text names the damaged ones.
  if (!stats.damage.empty()) {
    complain(paths.size() == 1 ? fmt::format("warning: {}: {}", paths.front(), stats.damage)
                               : fmt::format("warning: {}", stats.damage));
  }
  return true;
}

void add_profile(command_line::Command& command, rules::Profile& profile) {
  command
      .option(
          "--profile",
          [&profile](const std::string& name) {
            profile = name.ends_with("5666") ? rules::Profile::k5666 : rules::Profile::k8166;
          },
          "Specification to check against: RFC 8166 (the default) or RFC 5666")
      .one_of({"8166", "5666", "rfc8166", "rfc5666"})
      .value("RFC");
}

void add_dialect(command_line::Command& command, std::optional<wire::Dialect>& dialect) {
  std::vector<std::string> names{"auto"};
  for (std::size_t i = 0; i < wire::kDialects; ++i) {
    names.emplace_back(wire::dialect_name(static_cast<wire::Dialect>(i)));
  }
  command
      .option(
          "--v2-dialect",
          [&dialect](const std::string& name) {
            dialect.reset();
            for (std::size_t i = 0; i < wire::kDialects; ++i) {
              const auto d = static_cast<wire::Dialect>(i);
              if (name == wire::dialect_name(d)) dialect = d;
            }
          },
          "Draft of RPC-over-RDMA version 2 to decode by; auto (the default): detected from each "
          "connection's messages, else draft-02")
      .one_of(names)
      .value("NAME");
}

void add_jobs(command_line::Command& command, unsigned& jobs) {
  command.option("-j,--jobs", jobs, "Maximum number of threads (as many as there are cores)")
      .value("N");
}

}  // namespace rpcrdma::cli
