// The command line of rpcrdma-load-mpi: the options of `rpcrdma load`, and those of the job.
#pragma once

#include "coordinator.h"
#include "load/options.h"
#include "member.h"

#include <string>

#include <tl/expected.hpp>

#include <rpcrdma/command_line/command.h>

namespace rpcrdma::load_mpi {

struct JobOptions {
  cli::LoadOptions load;
  std::string pattern = "n-to-1";
  std::string network;
  std::string serve;
  std::string stuck_after = "5s";
  std::string report;
};

// Describes the program.
void describe(command_line::Command& program, JobOptions& options);

// How long results can be collected between the launcher's SIGTERM and its SIGKILL, so that time
// for the report is left. `seconds`: mpirun's parameter odls_base_sigkill_timeout, which it passes
// to ranks in their environment; null or not a number of seconds: its default, 1.
[[nodiscard]] fabric::Time collect_before_kill(const char* seconds);

// The parsed options of the job.
struct JobPlan {
  MemberOptions member;
  CoordinatorOptions coordinator;
  std::string address;  // of this rank for the others; empty: servers are given
};
// Error: one clause for display.
[[nodiscard]] tl::expected<JobPlan, std::string> parse_job(const JobOptions& options);

}  // namespace rpcrdma::load_mpi
