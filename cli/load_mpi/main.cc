// rpcrdma-load-mpi: a load of many ranks under MPI (docs/cluster.md). A program of its own, so that
// rpcrdma does not link MPI.
#include "channel.h"
#include "commands.h"
#include "coordinator.h"
#include "input.h"
#include "member.h"
#include "options.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/version/version.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// Open MPI does not free all of its memory, and unloads the plug-ins that allocated it, so that no
// suppression can name them.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() {
  return 1;
}
#endif
#endif

namespace rpcrdma::load_mpi {
namespace {

using fabric::Time;

// Between two turns: the load has threads of its own, and this one must not take their time.
constexpr Time kTurn = fabric::kMillisecond;
// While clocks are compared, answers must not wait for a turn.
constexpr Time kBusy = 20 * fabric::kMillisecond;
// For what is sent at the end, and for MPI_Finalize() and MPI_Abort(), which wait for others.
constexpr Time kLastWords = fabric::kSecond;
constexpr unsigned kEndSeconds = 5;

// What the launcher says of this process before MPI_Init(): empty: it was not started by one.
std::string launched_rank() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* const value = std::getenv(name); value != nullptr) return value;
  }
  return {};
}

// SIGINT, SIGTERM and SIGHUP, taken by turns: handlers of the load's interruption never see them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    ::sigprocmask(SIG_BLOCK, &set_, nullptr);
  }
  [[nodiscard]] bool came() const {
    const timespec none{};
    return ::sigtimedwait(&set_, nullptr, &none) > 0;
  }

 private:
  sigset_t set_;
};

int end_status = cli::kFindings;

// Bounds what waits for other ranks. The report was printed before.
void end_within_seconds(int status) {
  end_status = status;
  std::signal(SIGALRM, [](int) { ::_exit(end_status); });
  ::alarm(kEndSeconds);
}

[[noreturn]] void abort_job(int status) {
  end_within_seconds(status);
  MPI_Abort(MPI_COMM_WORLD, status);
  ::_exit(status);
}

bool is_for_coordinator(Kind kind) {
  return kind <= Kind::kResult;
}

// Runs until the job is complete; returns the exit status of this rank.
int take_part(Channel& channel, const Signals& signals, Member& member, Coordinator* coordinator) {
  Time busy_until = 0;
  bool interrupted = false;
  for (;;) {
    Time now = service::Loop::read_clock();
    while (auto message = channel.receive()) {
      now = service::Loop::read_clock();
      if (message->kind == Kind::kPing) busy_until = now + kBusy;
      if (!is_for_coordinator(message->kind)) {
        member.on(*message, now);
      } else if (coordinator != nullptr) {
        coordinator->on(*message, now);
      }
    }
    if (!interrupted && signals.came()) {
      interrupted = true;
      member.interrupt();
      if (coordinator != nullptr) coordinator->interrupt(now);
    }
    member.poll(now);
    if (coordinator != nullptr) {
      if (const auto reduced = member.take_reduced()) coordinator->on_reduced(*reduced, now);
      coordinator->poll(now);
      if (const auto& outcome = coordinator->outcome()) {
        if (outcome->abort) abort_job(outcome->status);
        if (member.ended()) {
          channel.flush(now + kLastWords);
          return outcome->status;
        }
      }
    } else if (member.ended()) {
      return cli::kOk;
    }
    if (member.forsaken(now)) {
      if (!member.gave_result()) {
        cli::complain("rank 0 is silent: stopped, dead or unreachable; there is no report");
      }
      abort_job(cli::kFindings);
    }
    if (now < busy_until) {
      ::sched_yield();
    } else {
      const timespec turn{0, kTurn};
      ::nanosleep(&turn, nullptr);
    }
  }
}

int run_rank(const Signals& signals, JobOptions& options, std::string problem) {
  Channel channel;
  const std::string host = cli::own_host_name();
  const int rank = channel.rank();
  cli::complain_to([rank, host](std::string_view text, bool) {
    if (rank == 0) {
      fmt::print(stderr, "rpcrdma-load-mpi: {}\n", text);
    } else {
      fmt::print(stderr, "rpcrdma-load-mpi: rank {} ({}): {}\n", rank, host, text);
    }
  });
  tl::expected<JobPlan, std::string> plan;
  std::optional<cli::LoadOutput> output;
  if (problem.empty()) {
    plan = parse_job(options);
    if (!plan) problem = plan.error();
  }
  if (rank == 0) {
    cli::HeldComplaints held;
    if (problem.empty()) {
      output = cli::LoadOutput::open(options.load.output, options.load.json);
      if (!output) problem = held.take_last("load", "a file cannot be opened");
    }
    if (!output) output = cli::LoadOutput::open({}, false);
  }
  std::optional<base::WholeFile> report;
  if (rank == 0 && problem.empty() && !options.report.empty()) {
    auto created = base::WholeFile::create(options.report);
    if (created) {
      report = std::move(*created);
    } else {
      problem = created.error().message;
    }
  }
  // What each rank writes by itself.
  for (std::string* const file :
       {&options.load.raw, &options.load.endpoint.pcapng, &options.load.endpoint.tracing.record}) {
    if (!file->empty()) *file += fmt::format(".{}", rank);
  }
  const JobPlan valid = plan ? *plan : JobPlan{};
  std::optional<Coordinator> coordinator;
  if (rank == 0) {
    coordinator.emplace(channel, options.load, *output, valid.coordinator, std::move(report));
  }
  Member member(channel, options.load, valid.member,
                Hello{std::string(version::text()), host, valid.address, problem});
  const int status = take_part(channel, signals, member, coordinator ? &*coordinator : nullptr);
  end_within_seconds(status);
  MPI_Finalize();
  ::alarm(0);
  return status;
}

int run(int argc, char** argv) {
  command_line::Command program(
      "rpcrdma-load-mpi",
      "Call RPC-over-RDMA servers from many hosts at once, and measure latency.");
  JobOptions options;
  describe(program, options);
  const auto parsed = command_line::parse(program, argc, argv);
  if (parsed.outcome == command_line::Parsed::Outcome::kShow) {
    const std::string rank = launched_rank();
    if (rank.empty() || rank == "0") std::fputs(parsed.text.c_str(), stdout);
    return std::fflush(stdout) == 0 ? cli::kOk : cli::kUnreadable;
  }
  const bool refused = parsed.outcome == command_line::Parsed::Outcome::kRefused;
  const Signals signals;  // before MPI's threads begin, which inherit the mask
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  return run_rank(signals, options, refused ? parsed.text : std::string());
}

}  // namespace
}  // namespace rpcrdma::load_mpi

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a limit of file sizes is a write error
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return rpcrdma::load_mpi::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rpcrdma-load-mpi: %s\n", e.what());
    std::_Exit(rpcrdma::cli::kUnreadable);
  }
}
