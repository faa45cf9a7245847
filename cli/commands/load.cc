// rpcrdma load: generates load and measures latency.
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "load/options.h"
#include "load/output.h"
#include "load/runner.h"
#include "load/ssh/agent.h"
#include "load/ssh/agents_option.h"
#include "load/ssh/coordinate.h"
#include "metrics_option.h"

#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/load/report.h>

namespace rpcrdma::cli {

namespace {

using fabric::Time;

// Prints the progress if stderr is a terminal and nothing else prints lines.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : on_(wanted && ::isatty(fileno(stderr)) == 1) {}

  void show(const LoadTick& tick) {
    if (on_ && !tick.last) {
      fmt::print(stderr, "\r\033[K{}",
                 load::progress_line(before_, tick.progress, tick.length, tick.elapsed));
    } else if (on_) {
      std::fputs("\r\033[K", stderr);
    }
    before_ = tick.progress;
  }

 private:
  bool on_;
  load::Progress before_;
};

int make_load(const LoadOptions& o, const LoadPlan& plan, Tracing& tracing) {
  auto output = LoadOutput::open(o.output, o.json);
  if (!output) return kUnreadable;
  ProgressLine progress(!output->prints_lines());
  LoadRunOptions run_options;
  run_options.interval = output->interval();
  run_options.intervals = output->wants_intervals();
  run_options.on_tick = [&](const LoadTick& tick) {
    progress.show(tick);
    return !output->wants_intervals() || output->add(tick.interval);
  };
  const auto fail = [](const std::string& why) {
    complain(fmt::format("load: {}", why));
    return kUnreadable;
  };
  const auto runner = LoadRunner::open(plan, run_options, tracing);
  if (!runner) return fail(runner.error());
  const std::vector<service::Loop*> loops = (*runner)->loops();
  const Interrupt interrupt(loops);
  std::unique_ptr<Metrics> metrics;
  if (plan.metrics) {
    std::vector<metrics::Parts> parts = (*runner)->metrics_parts();
    parts.front().trace = tracing.figures();
    metrics = Metrics::open(*plan.metrics, parts, "load");
    if (metrics == nullptr) return kUnreadable;
    tracing.announce_metrics(metrics->address());
    if (plan.metrics->port == 0) {
      complain(fmt::format("load: metrics at http://{}/metrics", metrics->address()));
    }
  }
  if (const auto connected = (*runner)->connect(); !connected) return fail(connected.error());
  output->begin();
  LoadRunner::Outcome outcome = (*runner)->run(0, {});
  const load::Result& result = outcome.result;
  const bool whole = outcome.problems.empty();
  for (const std::string& p : outcome.problems) complain(fmt::format("load: {}", p));
  (*runner)->disconnect();

  const load::Setup setup = plan.setup();
  fmt::print("{}", o.json ? load::to_json(setup, result) + '\n' : load::to_text(setup, result));
  // If no Call succeeded, the reason was already reported.
  if (whole || result.tally.right() != 0) {
    for (const std::string& limit : result.failed) complain(fmt::format("load: {}", limit));
  }
  const bool written = output->finish();
  if (!whole || !written) return kUnreadable;
  if (result.down != 0) {
    complain(fmt::format(
        "load: {} not re-established: {}",
        result.down == 1 ? "a connection to the server was lost and"
                         : fmt::format("{} connections to the server were lost and", result.down),
        result.why_down));
  }
  // Ctrl-C abandons Calls, too, which is no fault of the server.
  const bool silent = result.abandoned != 0 && !result.interrupted;
  if (silent) {
    complain(fmt::format(
        "load: {} without an answer when the time was over",
        result.abandoned == 1 ? "1 Call was" : fmt::format("{} Calls were", result.abandoned)));
  }
  const bool wrong =
      silent || result.down != 0 || result.tally.mismatches() != 0 ||
      (!o.reverse && result.tally.right() == 0) ||
      (result.reverse &&
       (result.reverse->wrong != 0 || result.reverse->failed != 0 || result.reverse->right == 0));
  return wrong || !result.failed.empty() ? kFindings : kOk;
}

struct CommandOptions {
  LoadOptions load;
  AgentsOptions agents;
};

int run_load(const CommandOptions& options) {
  const LoadOptions& o = options.load;
  if (o.hosts.empty()) {
    complain("load: HOST is required");
    return kUnreadable;
  }
  const auto plan = parse_load(o, server_names(o.hosts));
  if (!plan) {
    complain(fmt::format("load: {}", plan.error()));
    return kUnreadable;
  }
  auto tracing = Tracing::start(plan->endpoint.tracing,
                                fmt::format("load of {}", plan->setup().server), "load");
  if (!tracing) return kUnreadable;
  return tracing->finish(make_load(o, *plan, *tracing));
}

}  // namespace

Run add_load(command_line::Command& command) {
  auto options = std::make_shared<CommandOptions>();
  add_load_hosts(command, options->load, false);
  add_load_options(command, options->load);
  add_agents_options(command, options->agents);
  command.footer(
      "Calls the program ECHO of `rpcrdma serve` and verifies all data in the Replies. Lost "
      "connections are reestablished and their Calls resent.\n"
      "Ctrl-C stops it; results so far are still reported.\n"
      "Exit status: 0 success; 1 a Call was refused, failed or not answered before the end, a "
      "limit was exceeded, data was wrong, no Call was answered, or a connection was lost and not "
      "re-established; 2 the server cannot be reached or an "
      "argument is invalid, or a file cannot be written.");
  command.example("rpcrdma load 127.0.0.1 --procedure source --size 1Mi --depth 16 --duration 10s",
                  "Measure throughput in bytes per second.");
  command.example("rpcrdma load 127.0.0.1 --rate 1000 --count 10000 --fail-above p99=1ms,errors=0",
                  "Send a thousand Calls per second; exit with 1 if more than 1 % take longer than "
                  "1 ms or any fails.");
  command.example("rpcrdma load server --agents h1,h2,h3:2 --depth 16 --duration 30s",
                  "Let four agents at three hosts call one server, and report what they did "
                  "together.");
  return [options, &command] {
    if (options->agents.agent) return run_load_agent();
    if (!options->agents.agents.empty()) {
      return coordinate_load(command, options->load, options->agents);
    }
    return run_load(*options);
  };
}

}  // namespace rpcrdma::cli
