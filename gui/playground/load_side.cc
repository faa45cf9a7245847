// Schedules the Calls of the playground's client and counts their outcomes.
#include "load_side.h"

#include <algorithm>

namespace rpcrdma::playground {

namespace {

using fabric::Errc;
using fabric::Expected;
using fabric::Time;
namespace echo = service::echo;

constexpr double kMostRate = 1e6;
constexpr std::uint32_t kMostBytes = 1U << 20;  // maximum size of a Call's data
constexpr Time kTimeout = 10 * fabric::kSecond;
// Calls that are late by more than this are skipped: the effect of faults on single Calls should be
// visible, without a burst after each pause.
constexpr Time kMostLate = 100 * fabric::kMillisecond;
// Time limit for Calls in flight when the playground stops: closing the connection under them would
// look like a fault.
constexpr Time kDrain = fabric::kSecond;
// Each reverse Call sleeps this long at the client, which limits their rate.
constexpr std::uint32_t kReverseSleep = 5000;  // microseconds
// Calls on top of the load's that ask the server for reverse Calls.
constexpr std::uint32_t kAskingCalls = 4;

}  // namespace

Expected<void> check(const Load& load) {
  if (!(load.rate >= 0 && load.rate <= kMostRate)) {
    return fabric::fail(Errc::kBadArgument, "a rate must be from 0 to a million Calls per second");
  }
  if (!(load.stalls >= 0 && load.stalls <= 1)) {
    return fabric::fail(Errc::kBadArgument, "a share of Calls must be from 0 to 1");
  }
  if (load.stall < 0 || load.stall / fabric::kMicrosecond > echo::kMaxSleep) {
    return fabric::fail(Errc::kBadArgument, "the server can stall for at most a minute");
  }
  return {};
}

LoadSide::LoadSide(std::unique_ptr<soft::SoftProvider> provider, const PlaygroundOptions& options,
                   load::EchoRequests requests)
    : Side(std::move(provider)),
      forward_(options.forward),
      load_(options.load),
      requests_(std::move(requests)),
      random_(options.seed),
      pacer_({}) {}

LoadSide::~LoadSide() {
  end();
  // The client uses its Calls' memory as long as it exists.
  client_.reset();
}

Expected<std::unique_ptr<LoadSide>> LoadSide::create(std::unique_ptr<soft::SoftProvider> provider,
                                                     const fabric::Address& server,
                                                     const PlaygroundOptions& options,
                                                     trace::Tracer* tracer) {
  auto requests = load::EchoRequests::parse(options.procedures, options.sizes, options.load.stall);
  if (!requests) {
    return fabric::fail(
        Errc::kBadArgument,
        (requests.error().of_sizes ? "sizes: " : "procedures: ") + requests.error().message);
  }
  if (requests->longest_result() > kMostBytes ||
      requests->longest() > kMostBytes + echo::kMaxItem) {
    return fabric::fail(Errc::kBadArgument, "sizes must be at most 1 MiB");
  }
  std::unique_ptr<LoadSide> side(new LoadSide(std::move(provider), options, std::move(*requests)));
  if (const auto made = side->make_loop(tracer); !made) return tl::unexpected(made.error());
  if (const auto made = side->make_calls(options); !made) return tl::unexpected(made.error());
  if (const auto made = side->make_client(server, options); !made) {
    return tl::unexpected(made.error());
  }
  side->pace(side->loop_->now());
  return side;
}

Expected<void> LoadSide::make_calls(const PlaygroundOptions& options) {
  auto pattern = echo::Pattern::create(loop_->memory(), requests_.longest());
  if (!pattern) return tl::unexpected(pattern.error());
  pattern_ = std::make_unique<echo::Pattern>(std::move(*pattern));
  calls_.reserve(options.depth);
  for (std::uint32_t i = 0; i < options.depth; ++i) {
    auto call = echo::EchoCall::create(loop_->memory(), *pattern_, requests_.longest_result());
    if (!call) return tl::unexpected(call.error());
    calls_.push_back(std::move(*call));
    free_.push_back(i);
  }
  return {};
}

Expected<void> LoadSide::make_client(const fabric::Address& server,
                                     const PlaygroundOptions& options) {
  service::ClientOptions client;
  client.server = server;
  client.inline_threshold = options.client_threshold;
  client.version.versions = {options.version, options.version};
  client.requester.credits = options.depth;
  client.requester.max_calls = options.depth;
  if (options.reverse) {
    auto served =
        echo::EchoProgram::create(loop_->memory(), requests_.longest(), &service::Loop::read_clock);
    if (!served) return tl::unexpected(served.error());
    echo_ = std::move(*served);
    programs_.push_back(echo_.get());
    client.programs = programs_;
    client.requester.credits += 1;
    client.requester.max_calls += kAskingCalls;
    load::ReversePlan plan;
    plan.request.proc = echo::Proc::kSleep;
    plan.request.sleep = kReverseSleep;
    reverse_.emplace(plan, 1, options.seed);
  }
  auto made = service::Client::create(*loop_, client, *this);
  if (!made) return tl::unexpected(made.error());
  client_ = std::move(*made);
  return {};
}

void LoadSide::set_load(const Load& load) {
  {
    const std::scoped_lock lock(mailbox());
    next_load_ = load;
  }
  wake();
}

void LoadSide::take_mail() {
  if (!next_load_) return;
  load_ = *next_load_;
  next_load_.reset();
  pace(loop_->now());
}

void LoadSide::pace(Time now) {
  load::PacerOptions options;
  options.rate = load_.rate;
  pacer_ = load::Pacer(options);
  pacer_.begin(now);
}

Time LoadSide::work(Time now) {
  if (reverse_ && !reverse_->failure().empty()) emit(reverse_->failure());
  begin_due(now);
  if (ending()) return drain(now);
  // Without a free slot, only the end of a Call permits a new one.
  if (!forward_ || load_.paused || free_.empty() || client_->closed()) return fabric::kNever;
  return pacer_.due(now);
}

Time LoadSide::drain(Time now) {
  if (closing_) return fabric::kNever;
  if (client_->outstanding() + client_->waiting() != 0 && now < drain_until_) return drain_until_;
  closing_ = true;
  client_->close();
  return now;
}

void LoadSide::begin_due(Time now) {
  // The connection was closed after a failure, which has been reported.
  if (!forward_ || load_.paused || ending() || client_->closed()) return;
  if (now - pacer_.due(now) > kMostLate) pace(now);
  while (!free_.empty() && pacer_.due(now) <= now) {
    pacer_.took();
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    if (begin(slot)) continue;
    free_.push_back(slot);
    return;
  }
}

bool LoadSide::begin(std::uint32_t slot) {
  echo::Request request = requests_.next(random_);
  if (load_.stalls > 0 && random_.chance(load_.stalls)) {
    request = {};
    request.proc = echo::Proc::kSleep;
    request.sleep = static_cast<std::uint32_t>(load_.stall / fabric::kMicrosecond);
  }
  auto spec = calls_[slot].begin(request);
  if (!spec) {
    emit(spec.error().message);
    return false;
  }
  spec->timeout = kTimeout;
  spec->cookie = slot;
  const auto called = client_->call(*spec);
  if (!called) emit(called.error().message);
  return called.has_value();
}

void LoadSide::on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) {
  if ((outcome.cookie & load::ReverseLoad::kCookie) != 0) {
    return reverse_->on_outcome(*client_, outcome);
  }
  const auto slot = static_cast<std::uint32_t>(outcome.cookie);
  free_.push_back(slot);
  if (ending()) return;  // Calls aborted by the stop do not count as errors
  echo::EchoCall& call = calls_[slot];
  const echo::Verdict verdict = call.check(outcome);
  if (verdict == echo::Verdict::kRight) {
    ++right_;
    bytes_ += echo::EchoCall::payload_bytes(call.request());
  } else {
    ++wrong_;
    emit(verdict == echo::Verdict::kRpcError
             ? service::describe(outcome, service::ReplyReader(outcome))
             : echo::verdict_name(verdict));
  }
  // The next Call leaves with the same batch.
  begin_due(loop_->now());
}

void LoadSide::on_connected(const service::ConnectionInfo& info) {
  if (reverse_ && !ending()) reverse_->on_connected(*client_, info.number);
}

void LoadSide::on_lost(std::uint32_t /*connection*/, std::string_view what, Time /*retry*/) {
  if (!ending()) emit(std::string(what));
}

void LoadSide::show(PlaygroundStats& stats) {
  const service::ClientCounters counters = client_->counters();
  stats.connected = client_->up() != 0;
  stats.calls = right_;
  stats.errors = wrong_;
  stats.bytes = bytes_;
  stats.reverse_calls = counters.reverse_calls.success;
  stats.lost = counters.lost;
  stats.outstanding = client_->outstanding();
  stats.waiting = client_->waiting();
}

void LoadSide::begin_end() {
  if (reverse_) reverse_->stop(*client_);
  drain_until_ = loop_->now() + kDrain;
}

bool LoadSide::ended() const {
  return closing_ && client_->closed();
}

}  // namespace rpcrdma::playground
