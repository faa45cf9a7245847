#include "options.h"

#include "input.h"
#include "load/own_address.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/load_ranks/pattern.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::load_mpi {

using load_ranks::Pattern;

void describe(command_line::Command& program, JobOptions& o) {
  program.version(fmt::format("rpcrdma-load-mpi {}", version::text()));
  cli::add_load_hosts(program, o.load, false);
  program.group("Job");
  program
      .option(
          "--pattern", o.pattern,
          "Who calls whom: n-to-1: all ranks one server; 1-to-n: rank 0 all servers; pairwise: "
          "each rank each server in turn, in rounds; all-to-all: each rank all servers at once. "
          "Without HOST, ranks serve as the pattern requires")
      .value("NAME")
      .show_default()
      .one_of({"n-to-1", "1-to-n", "pairwise", "all-to-all"});
  program
      .option(
          "--network", o.network,
          "Without HOST: where ranks reach each other's server: an interface or a network, such "
          "as ib0 or 10.1.0.0/16 (the host's only address)")
      .value("NETWORK");
  program
      .option("--serve", o.serve,
              "Options of `rpcrdma serve` for the servers that ranks run: \"--credits 64\"")
      .value("OPTIONS");
  program
      .option("--stuck-after", o.stuck_after,
              "Name a rank that reports nothing for this time, and end the job with the results of "
              "the others")
      .value("DURATION")
      .show_default();
  program
      .option(
          "--report", o.report,
          "Write the report to FILE instead of standard output: while mpirun ends a job it reads "
          "no output, and can lose the end of a long report")
      .value("FILE");
  cli::add_load_options(program, o.load);
  program.footer(
      "Run it by mpirun or srun. All ranks begin at the same moment, which they agree on after "
      "their clocks were compared; rank 0 prints one report of them together. --interval, "
      "--json-stream, --hlog, --hgrm and --html are of all ranks together, too. Each rank writes "
      "its own FILE.RANK for --raw, --pcapng and --record, and FILE.RANK.ROUND after the first "
      "round.\n"
      "If a rank dies or is stuck, the job ends; the report then has what is known of that rank, "
      "and names it. mpirun gives the ranks one second to end, which is enough for that "
      "on idle hosts; on busy ones, give more (mpirun --mca odls_base_sigkill_timeout 5) and use "
      "--report.\n"
      "Exit status: 0 success; 1 as for `rpcrdma load`, for any rank, or a rank died or is stuck; "
      "2 "
      "a rank cannot connect, an argument is invalid, or a file cannot be written.");
  program.example("mpirun -H h1,h2,h3,h4 rpcrdma-load-mpi server --depth 16 --duration 30s",
                  "Call one server from four hosts.");
  program.example(
      "mpirun -H h1,h2,h3,h4 rpcrdma-load-mpi --pattern pairwise --network ib0 --size 1Mi",
      "Call each host from each other one, in turn: a bad link is the slowest row.");
  program.example("srun --mpi=pmix -N 64 rpcrdma-load-mpi server --fail-above p99=2ms",
                  "Call one server from 64 nodes of a Slurm cluster.");
}

fabric::Time collect_before_kill(const char* seconds) {
  constexpr std::uint32_t kMostSeconds = 600;
  const auto given = seconds == nullptr ? std::nullopt : base::parse_u32(seconds);
  const std::uint32_t until_kill = given ? std::clamp(*given, 1U, kMostSeconds) : 1;
  return until_kill * (400 * fabric::kMillisecond);
}

tl::expected<JobPlan, std::string> parse_job(const JobOptions& o) {
  JobPlan plan;
  if (!o.load.metrics.address.empty()) {
    return tl::unexpected(std::string("--metrics: ranks serve no metrics"));
  }
  const auto pattern = load_ranks::pattern_of(o.pattern);
  if (!pattern) return tl::unexpected(fmt::format("--pattern {}: not a pattern", o.pattern));
  plan.coordinator.pattern = *pattern;
  plan.coordinator.collect_after_signal =
      collect_before_kill(std::getenv("OMPI_MCA_odls_base_sigkill_timeout"));
  {
    cli::HeldComplaints held;
    const auto patience = cli::duration_option(o.stuck_after, "load", "--stuck-after");
    if (!patience) return tl::unexpected(held.take_last("load", "--stuck-after is invalid"));
    // Ranks report once a second.
    constexpr fabric::Time kLeast = 3 * fabric::kSecond;
    if (*patience < kLeast) {
      return tl::unexpected(fmt::format(
          "--stuck-after {}: ranks report once a second; give at least 3s", o.stuck_after));
    }
    plan.member.patience = plan.coordinator.patience = *patience;
  }
  if (!o.load.output.interval.empty()) {
    cli::HeldComplaints held;
    const auto interval = cli::duration_option(o.load.output.interval, "load", "--interval");
    if (!interval) return tl::unexpected(held.take_last("load", "--interval is invalid"));
    if (*interval % fabric::kSecond != 0) {
      return tl::unexpected(fmt::format(
          "--interval {}: ranks report once a second; give whole seconds", o.load.output.interval));
    }
  }
  if (!o.load.hosts.empty()) {
    if (!o.network.empty() || !o.serve.empty()) {
      return tl::unexpected(fmt::format("{}: HOST is given, so that no rank serves",
                                        o.network.empty() ? "--serve" : "--network"));
    }
    return plan;
  }
  auto address = cli::own_address(o.network);
  if (!address) return tl::unexpected(address.error());
  plan.address = std::move(*address);
  plan.member.serve = {"--listen", plan.address, "--port", fmt::format("{}", o.load.endpoint.port)};
  std::istringstream words(o.serve);
  for (std::string word; words >> word;) plan.member.serve.push_back(word);
  return plan;
}

}  // namespace rpcrdma::load_mpi
