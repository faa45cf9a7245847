// rpcrdma load: generates load and measures latency.
#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "load/options.h"
#include "load/output.h"
#include "load/page.h"
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

// What standard error says after the report.
std::vector<std::string> problems_of(const LoadRunner::Outcome& outcome) {
  const load::Result& r = outcome.result;
  std::vector<std::string> problems;
  // If a thread failed before any Call succeeded, the limits say the same once more.
  if (outcome.problems.empty() || r.tally.right() != 0) problems = r.failed;
  if (!outcome.problems.empty()) return problems;
  if (r.down != 0) {
    problems.push_back(
        fmt::format("{} not re-established: {}",
                    r.down == 1 ? "a connection to the server was lost and"
                                : fmt::format("{} connections to the server were lost and", r.down),
                    r.why_down));
  }
  // Ctrl-C abandons Calls, too, which is no fault of the server.
  if (r.abandoned != 0 && !r.interrupted) {
    problems.push_back(
        fmt::format("{} without an answer when the time was over",
                    r.abandoned == 1 ? "1 Call was" : fmt::format("{} Calls were", r.abandoned)));
  }
  return problems;
}

std::string page_of(const LoadOptions& o, const LoadRunner::Outcome& outcome,
                    std::vector<std::string> problems) {
  problems.insert(problems.begin(), outcome.problems.begin(), outcome.problems.end());
  load_ranks::WholeSetup setup;
  setup.each = setup_of_each(o);
  setup.epoch = base::wall_clock_ns() - outcome.result.elapsed;
  setup.started = false;
  const load_ranks::Whole whole = load_ranks::derive(setup, outcome.results, {});
  return load_page(setup, outcome.results, whole, problems);
}

int make_load(const LoadOptions& o, const LoadPlan& plan, Tracing& tracing) {
  auto output = LoadOutput::open(o.output, o.json);
  if (!output) return kUnreadable;
  ProgressLine progress(!output->prints_lines());
  LoadRunOptions run_options;
  run_options.interval = output->interval();
  run_options.intervals = output->wants_intervals();
  run_options.series = output->wants_page();
  run_options.on_tick = [&](const LoadTick& tick) {
    progress.show(tick);
    return !output->wants_intervals() || output->add(tick.interval, tick.elapsed);
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
      complain("load: metrics at " + metrics_url(*plan.metrics, metrics->address()));
    }
  }
  if (const auto connected = (*runner)->connect(); !connected) return fail(connected.error());
  output->begin();
  LoadRunner::Outcome outcome = (*runner)->run(0, {.host = own_host_name(), .offset = {}});
  const load::Result& result = outcome.result;
  const bool whole = outcome.problems.empty();
  for (const std::string& p : outcome.problems) complain(fmt::format("load: {}", p));
  (*runner)->disconnect();

  const load::Setup setup = plan.setup();
  const std::vector<std::string> problems = problems_of(outcome);
  fmt::print("{}", o.json ? load::to_json(setup, result) + '\n' : load::to_text(setup, result));
  for (const std::string& p : problems) complain(fmt::format("load: {}", p));
  if (output->wants_page()) output->set_page(page_of(o, outcome, problems));
  const bool written = output->finish();
  if (!whole || !written) return kUnreadable;
  const bool wrong =
      !problems.empty() || result.tally.mismatches() != 0 ||
      (!o.reverse && result.tally.right() == 0) ||
      (result.reverse &&
       (result.reverse->wrong != 0 || result.reverse->failed != 0 || result.reverse->right == 0));
  return wrong ? kFindings : kOk;
}

struct CommandOptions {
  LoadOptions load;
  AgentsOptions agents;
};

int run_load(const CommandOptions& options) {
  const LoadOptions& o = options.load;
  if (o.hosts.empty()) {
    complain("load: HOST is required (see `rpcrdma load --help`)");
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
