// How a job ends: ranks that cannot take part, that are silent, or that the launcher ends; and the
// report.
#include "commands.h"
#include "coordinator.h"
#include "input.h"
#include "load/page.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

#include <rpcrdma/base/write_all.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::load_mpi {
namespace {

constexpr fabric::Time kUnasked = 150 * fabric::kMillisecond;
constexpr fabric::Time kSurelyAlive = 1100 * fabric::kMillisecond;

constexpr unsigned kPrintSeconds = 10;

// Prints from a process of its own: from the death of a rank until it has killed the others, mpirun
// reads no output, for twice its odls_base_sigkill_timeout. What does not fit into the terminal
// that it gives them, 4 KiB, would be lost.
void print_surviving(const std::string& out, const std::string& err) {
  const pid_t child = ::fork();
  if (child > 0) return;
  if (child == 0) {
    ::setsid();
    ::close_range(3, ~0U, 0);  // mpirun's daemon sees this rank's connections end with it
    ::alarm(kPrintSeconds);
  }
  // Nobody is left to be informed of a failure.
  (void)base::write_all(STDERR_FILENO, err);
  (void)base::write_all(STDOUT_FILENO, out);
  if (child == 0) ::_exit(0);
}

double seconds(fabric::Time t) {
  return static_cast<double>(t) / static_cast<double>(fabric::kSecond);
}

}  // namespace

void Coordinator::check_silence(fabric::Time now) {
  if (phase_ == Phase::kCollecting) return;
  bool any = false;
  for (Rank& r : ranks_) {
    r.lost = now - r.heard > options_.patience;
    any = any || r.lost;
  }
  if (any) collect(now, kCollect);
}

void Coordinator::refuse() {
  std::map<std::string, std::vector<std::uint32_t>> problems;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].problem.empty()) problems[ranks_[i].problem].push_back(i);
  }
  for (const auto& problem : problems) {
    // A wrong command line is wrong at every rank.
    const bool all = problem.second.size() == ranks_.size();
    cli::complain(all ? problem.first
                      : fmt::format("{}: {}", names(problem.second), problem.first));
  }
  // Earlier rounds have their report.
  if (round_ != 0) (void)report(false);
  outcome_ = Outcome{cli::kUnreadable, false};
  phase_ = Phase::kOver;
  send_all(Kind::kEnd);
}

void Coordinator::refuse_all(const std::string& problem) {
  for (Rank& r : ranks_) r.problem = problem;
  refuse();
}

void Coordinator::interrupt(fabric::Time now) {
  interrupted_ = true;
  if (phase_ == Phase::kOver) return;
  collect(now, options_.collect_after_signal);
  // Most got the signal, too, and answer without being asked.
  ask_at_ = now + kUnasked;
}

void Coordinator::collect(fabric::Time now, fabric::Time wait) {
  if (phase_ == Phase::kCollecting) {
    deadline_ = std::min(deadline_, now + wait);
    return;
  }
  enter(Phase::kCollecting, now);
  deadline_ = now + wait;
  ask_at_ = now;
}

void Coordinator::ask_for_results(fabric::Time now) {
  ask_at_ = 0;
  for (int i = 0; i < channel_.size(); ++i) {
    const Rank& r = ranks_[static_cast<std::size_t>(i)];
    // The launcher ends the job a second after a rank has died. Nothing is sent to that one.
    if (r.answered || r.lost || (interrupted_ && now - r.heard > kSurelyAlive)) continue;
    channel_.send(i, Kind::kCollect);
  }
}

void Coordinator::name_missing() {
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const Rank& r = ranks_[i];
    if (r.answered) continue;
    const auto state = r.lost
                           ? load_ranks::State::kLost
                           : (interrupted_ ? load_ranks::State::kDead : load_ranks::State::kStuck);
    const std::string why =
        r.lost ? fmt::format("it was silent for {:.0f} s: stopped, dead or unreachable",
                             seconds(options_.patience))
               : std::string(interrupted_ ? "it did not answer when the launcher ended the job"
                                          : "its load did not end in time");
    // The report complains about ranks of which it has a row.
    if (first_start_ != 0 && !schedule_.rounds[round_][i].empty()) {
      gather_.give_up(round_, i, state, why);
    } else {
      cli::complain(fmt::format("{}: {}", names({i}), why));
    }
  }
}

void Coordinator::finish_early() {
  name_missing();
  write_seconds(true);
  int status = cli::kFindings;
  if (first_start_ != 0) {
    status = std::max(status, report(true));
  } else if (interrupted_) {
    cli::complain("interrupted before the load began");
  }
  phase_ = Phase::kOver;
  outcome_ = Outcome{status, true};
}

int Coordinator::report(bool early) {
  const load_ranks::Results results = gather_.finish();
  const load_ranks::Whole whole = load_ranks::derive(setup_, results, plan_->limits);
  const std::vector<std::string> problems = load_ranks::complaints(results, whole);
  const std::string text = load_.json ? load_ranks::to_json(setup_, results, whole) + '\n'
                                      : load_ranks::to_text(setup_, results, whole);
  bool printed = std::fflush(stdout) == 0;
  if (file_) {
    file_->write(text);
    const auto written = file_->finish();
    if (!written) cli::complain(written.error().message);
    printed = printed && written;
  }
  if (early) {
    std::string lines;
    for (const std::string& line : problems) {
      lines += fmt::format("rpcrdma-load-mpi: {}\n", plot::escape_terminal(line));
    }
    print_surviving(file_ ? std::string() : text, lines);
  } else {
    if (!file_) {
      printed = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && printed;
      printed = std::fflush(stdout) == 0 && printed;
    }
    for (const std::string& line : problems) cli::complain(line);
  }
  output_.set_whole(results.latency);
  if (output_.wants_page()) output_.set_page(cli::load_page(setup_, results, whole, problems));
  const bool written = output_.finish();
  if (!printed || !written) return cli::kUnreadable;
  return problems.empty() ? cli::kOk : cli::kFindings;
}

}  // namespace rpcrdma::load_mpi
