#include "load/round_run.h"

#include "interrupt.h"

#include <chrono>
#include <exception>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/thread.h>

namespace rpcrdma::cli {
namespace {

// While a rank waits for the others, its connections acknowledge what arrives this often.
constexpr fabric::Time kTurn = 2 * fabric::kMillisecond;

}  // namespace

RoundRun::RoundRun(LoadOptions options, std::vector<std::string> servers)
    : options_(std::move(options)), servers_(std::move(servers)) {
  auto thread = base::start_thread([this] { run(); });
  if (!thread) {
    connected_ = tl::unexpected(thread.error().message);
    return;
  }
  thread_ = std::move(*thread);
}

RoundRun::~RoundRun() {
  stop();
  if (thread_.joinable()) thread_.join();
}

std::optional<tl::expected<void, std::string>> RoundRun::connected() {
  const std::scoped_lock lock(mutex_);
  return connected_;
}

void RoundRun::start(fabric::Time at, const LoadRole& role) {
  const std::scoped_lock lock(mutex_);
  start_ = Start{at, role};
  changed_.notify_one();
}

void RoundRun::stop() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  if (interruptible_) Interrupt::request();
  changed_.notify_one();
}

std::optional<load_ranks::Tick> RoundRun::take_tick() {
  const std::scoped_lock lock(mutex_);
  if (ticks_.empty()) return std::nullopt;
  load_ranks::Tick tick = std::move(ticks_.front());
  ticks_.erase(ticks_.begin());
  return tick;
}

std::optional<load_ranks::Results> RoundRun::take_result() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(result_, std::nullopt);
}

void RoundRun::run() {
  tl::expected<void, std::string> done;
  try {
    done = run_load();
  } catch (const std::exception& e) {
    done = tl::unexpected(std::string(e.what()));
  }
  const std::scoped_lock lock(mutex_);
  if (!connected_) connected_ = done;
}

tl::expected<void, std::string> RoundRun::run_load() {
  const auto plan = parse_load(options_, servers_);
  if (!plan) return tl::unexpected(plan.error());
  auto tracing = Tracing::start(plan->endpoint.tracing, "load", "load");
  if (!tracing) return tl::unexpected(std::string("cannot trace"));
  LoadRunOptions run_options;
  run_options.intervals = run_options.series = true;
  std::optional<Start> begin;
  run_options.on_tick = [&](const LoadTick& tick) {
    const std::scoped_lock lock(mutex_);
    ticks_.push_back(
        {begin->role.rank, begin->role.round, tick.index, tick.elapsed, tick.interval});
    return !stopped_;
  };
  auto runner = LoadRunner::open(*plan, run_options, *tracing);
  if (!runner) return tl::unexpected(runner.error());
  const std::vector<service::Loop*> loops = (*runner)->loops();
  const Interrupt interrupt(loops);
  {
    const std::scoped_lock lock(mutex_);
    interruptible_ = true;
    if (stopped_) Interrupt::request();
  }
  // Before `interrupt` ends, and the loops that it wakes.
  struct NoLonger {
    RoundRun& run;
    ~NoLonger() {
      const std::scoped_lock lock(run.mutex_);
      run.interruptible_ = false;
    }
  } const no_longer{*this};
  if (const auto connected = (*runner)->connect(); !connected) return connected;
  begin = wait_for_start(**runner);
  if (!begin) return {};
  auto outcome = (*runner)->run(begin->at, begin->role);
  {
    const std::scoped_lock lock(mutex_);
    result_ = std::move(outcome.results);
  }
  (*runner)->disconnect();
  return {};
}

std::optional<RoundRun::Start> RoundRun::wait_for_start(LoadRunner& runner) {
  {
    const std::scoped_lock lock(mutex_);
    connected_.emplace();
  }
  const std::vector<service::Loop*> loops = runner.loops();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::nanoseconds(kTurn),
                        [this] { return start_ || stopped_; });
      if (stopped_) return std::nullopt;
      if (start_) return start_;
    }
    for (service::Loop* loop : loops) (void)loop->run_once(0);
  }
}

}  // namespace rpcrdma::cli
