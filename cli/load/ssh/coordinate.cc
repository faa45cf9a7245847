#include "load/ssh/coordinate.h"

#include "commands.h"
#include "input.h"
#include "interrupt.h"
#include "load/output.h"
#include "load/page.h"
#include "load/ssh/job.h"

#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/load/threshold.h>
#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::cli {
namespace {

std::optional<load::Thresholds> parse_limits(const LoadOptions& load) {
  load::Thresholds limits;
  for (const std::string& text : load.limits) {
    if (const auto added = limits.add(text); !added) {
      complain(fmt::format("load: --fail-above: {}", added.error().message));
      return std::nullopt;
    }
  }
  limits.allow_no_errors();
  return limits;
}

// Joins seconds to the intervals of --interval.
class Intervals {
 public:
  explicit Intervals(LoadOutput& output)
      : output_(output), in_one_(static_cast<std::uint64_t>(output.interval() / fabric::kSecond)) {}

  // `end`: after the begin of the load.
  [[nodiscard]] bool add(const load::Interval& second, fabric::Time end) {
    if (!output_.wants_intervals()) return true;
    whole_.merge(second);
    end_ = end;
    if (++seconds_ < in_one_) return true;
    return write();
  }
  void finish() {
    if (seconds_ != 0) (void)write();
  }

 private:
  bool write() {
    seconds_ = 0;
    return output_.add(std::exchange(whole_, {}), end_);
  }

  LoadOutput& output_;
  std::uint64_t in_one_;
  std::uint64_t seconds_ = 0;
  fabric::Time end_ = 0;
  load::Interval whole_;
};

}  // namespace

int coordinate_load(const command_line::Command& command, const LoadOptions& load,
                    const AgentsOptions& options) {
  const auto plan = parse_agents_options(command, options);
  const auto limits = plan ? parse_limits(load) : std::nullopt;
  if (!limits) return kUnreadable;
  auto output = LoadOutput::open(load.output, load.json);
  if (!output) return kUnreadable;
  if (output->interval() % fabric::kSecond != 0) {
    complain("load: --interval: agents report whole seconds");
    return kUnreadable;
  }
  std::signal(SIGPIPE, SIG_IGN);  // of an agent that has ended
  const Interrupt interrupt({});
  load_ranks::WholeSetup setup;
  setup.each = setup_of_each(load);
  setup.pattern = plan->pattern;
  setup.ranks = static_cast<std::uint32_t>(plan->agents.size());
  Intervals intervals(*output);
  AgentsJobHooks hooks;
  hooks.on_begin = [&](fabric::Time epoch) {
    setup.epoch = epoch;
    output->begin();
  };
  hooks.on_second = [&](const load::Interval& second, fabric::Time end) {
    return intervals.add(second, end);
  };
  AgentsJob job(*plan, server_names(load.hosts), std::move(hooks));
  const auto results = job.run();
  if (!results) return kUnreadable;
  intervals.finish();
  const load_ranks::Whole whole = load_ranks::derive(setup, *results, *limits);
  fmt::print("{}", load.json ? load_ranks::to_json(setup, *results, whole) + '\n'
                             : load_ranks::to_text(setup, *results, whole));
  const std::vector<std::string> complaints = load_ranks::complaints(*results, whole);
  for (const std::string& line : complaints) complain(fmt::format("load: {}", line));
  output->set_whole(results->latency);
  if (output->wants_page()) output->set_page(load_page(setup, *results, whole, complaints));
  if (!output->finish()) return kUnreadable;
  return complaints.empty() && !job.lost_any() ? kOk : kFindings;
}

}  // namespace rpcrdma::cli
