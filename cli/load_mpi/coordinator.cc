// The phases of a job. No phase waits for a rank that is silent.
#include "coordinator.h"

#include "commands.h"
#include "input.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <rpcrdma/load_ranks/results.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::load_mpi {
namespace {

using fabric::Time;

constexpr unsigned kPings = 32;

}  // namespace

Coordinator::Coordinator(Channel& channel, const cli::LoadOptions& load, cli::LoadOutput& output,
                         CoordinatorOptions options, std::optional<base::WholeFile> file)
    : channel_(channel),
      load_(load),
      output_(output),
      options_(options),
      ranks_(static_cast<std::size_t>(channel.size())),
      file_(std::move(file)) {
  const Time now = service::Loop::read_clock();
  for (Rank& r : ranks_) r.heard = now;
  enter(Phase::kGreeting, now);
}

std::string Coordinator::names(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::string> numbers;
  std::vector<std::string> hosts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    numbers.push_back(end - i == 1 ? fmt::format("{}", ranks[i])
                                   : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    for (; i < end; ++i) {
      const std::string& host = ranks_[ranks[i]].hello.host;
      if (!host.empty() && std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
  }
  constexpr std::size_t kMostHosts = 8;
  if (hosts.size() > kMostHosts) {
    hosts.resize(kMostHosts);
    hosts.emplace_back("...");
  }
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(numbers, ", "),
                     hosts.empty() ? "" : fmt::format(" ({})", fmt::join(hosts, ", ")));
}

void Coordinator::enter(Phase phase, Time now) {
  phase_ = phase;
  entered_ = now;
  deadline_ = fabric::kNever;
  for (Rank& r : ranks_) r.answered = false;
}

bool Coordinator::all_answered() const {
  return std::ranges::all_of(ranks_, [](const Rank& r) { return r.answered || r.lost; });
}

void Coordinator::send_all(Kind kind, const std::string& bytes) {
  for (int i = 0; i < channel_.size(); ++i) {
    if (!ranks_[static_cast<std::size_t>(i)].lost) channel_.send(i, kind, bytes);
  }
}

void Coordinator::answer(Rank& rank, const std::string& problem) {
  rank.answered = true;
  rank.problem = problem;
}

void Coordinator::on(const Message& message, Time now) {
  Rank& rank = ranks_[static_cast<std::size_t>(message.from)];
  rank.heard = now;
  switch (message.kind) {
    case Kind::kHello: {
      if (phase_ != Phase::kGreeting) break;
      auto hello = decode_hello(message.bytes);
      rank.greeted = true;
      if (hello) rank.hello = std::move(*hello);
      const bool same = rank.hello.version == version::text();
      answer(rank, same ? rank.hello.problem
                        : fmt::format("it runs rpcrdma-load-mpi {}, and rank 0 {}",
                                      rank.hello.version, version::text()));
      break;
    }
    case Kind::kServing:
    case Kind::kReady:
      if (phase_ == (message.kind == Kind::kServing ? Phase::kServing : Phase::kConnecting)) {
        const auto ready = decode_ready(message.bytes);
        answer(rank, ready ? ready->problem : "this rank runs another version");
      }
      break;
    case Kind::kPong:
      if (const auto pong = decode_ping(message.bytes); pong && phase_ == Phase::kTiming) {
        rank.estimate.add({pong->sent, pong->remote, now});
        rank.pinged = false;
        rank.answered = ++rank.pongs == kPings;
      }
      break;
    case Kind::kBeat:
      if (!message.bytes.empty()) take_tick(message, now);
      // Only in answer: Open MPI waits for its daemon to print a warning if it sends to a rank that
      // has died, and the daemon is busy with ending the job.
      channel_.send(message.from, Kind::kAlive);
      break;
    case Kind::kDone:
      if (const auto done = decode_done(message.bytes);
          done && phase_ == Phase::kLoading && done->round == round_) {
        rank.bytes = done->bytes;
        rank.answered = true;
      }
      break;
    case Kind::kResult:
      if (phase_ != Phase::kCollecting) break;
      rank.answered = true;
      if (!message.bytes.empty()) {
        const std::span bytes(reinterpret_cast<const std::uint8_t*>(message.bytes.data()),
                              message.bytes.size());
        auto results = load_ranks::decode(bytes);
        base::Expected<void> taken;
        if (results) {
          taken = gather_.take(*results);
        } else {
          taken = tl::unexpected(results.error());
        }
        if (!taken) {
          cli::complain(
              fmt::format("rank {}: its result: {}", message.from, taken.error().message));
        }
      }
      break;
    default:
      break;
  }
}

void Coordinator::poll(Time now) {
  if (outcome_) return;
  check_silence(now);
  if (reader_gone_ && phase_ == Phase::kLoading) return collect(now, kCollect);
  if (phase_ == Phase::kTiming) ping_some(now);
  if (phase_ == Phase::kCollecting) {
    if (ask_at_ != 0 && now >= ask_at_) ask_for_results(now);
    if (all_answered() || now >= deadline_) finish_early();
    return;
  }
  if (phase_ == Phase::kReducing) {
    if (now >= deadline_) collect(now, kCollect);
    return;
  }
  if (phase_ == Phase::kLoading && now >= deadline_) return collect(now, kCollect);
  if (!all_answered()) return;
  if (std::ranges::any_of(ranks_, [](const Rank& r) { return !r.problem.empty(); })) {
    return refuse();
  }
  switch (phase_) {
    case Phase::kGreeting:
      return plan(now);
    case Phase::kServing:
      return begin_round(now);
    case Phase::kConnecting:
      enter(Phase::kTiming, now);
      for (Rank& r : ranks_) {
        r.pinged = false;
        r.pongs = 0;
        r.estimate = {};
      }
      return;
    case Phase::kTiming:
      return start_round(now);
    case Phase::kLoading:
      return reduce(now);
    default:
      return;
  }
}

}  // namespace rpcrdma::load_mpi
