// One thread of `rpcrdma load`: opens its endpoint, sends the Calls when they are due, counts
// results.
#include "load/worker.h"

#include "device_work.h"
#include "interrupt.h"
#include "metrics_option.h"
#include "refusal_text.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/service/rpc_message.h>

namespace rpcrdma::cli {

namespace {

using fabric::Expected;
using fabric::Time;
namespace echo = service::echo;

// How long after an interruption in-flight Calls may take to end, and then connections to close.
constexpr Time kDrainTime = 2 * fabric::kSecond;
// The same after the end of --duration. A bound is of no use if Calls to a server that hangs extend
// it by their timeout.
constexpr Time kLastReplies = fabric::kSecond;
// How long connections may take to close when the server did not answer before.
constexpr Time kCloseUnanswered = 100 * fabric::kMillisecond;

}  // namespace

LoadWorker::LoadWorker(OpenProvider provider, const WorkerOptions& options,
                       const load::EchoRequests& requests)
    : options_(options),
      requests_(requests),
      provider_(std::move(provider)),
      pacer_(options.pace),
      random_(options.seed),
      granted_(options.client.connections * options.servers.size()) {}

LoadWorker::~LoadWorker() {
  // The clients use the memory of the Calls, so they are destroyed first.
  links_.clear();
}

Expected<std::unique_ptr<LoadWorker>> LoadWorker::create(OpenProvider provider,
                                                         const WorkerOptions& options,
                                                         const load::EchoRequests& requests) {
  std::unique_ptr<LoadWorker> w(new LoadWorker(std::move(provider), options, requests));
  auto loop = service::Loop::create(*w->provider_.provider,
                                    {.memory = {}, .spin = options.spin, .tracer = options.tracer});
  if (!loop) return tl::unexpected(loop.error());
  w->loop_ = std::move(*loop);
  auto pattern = echo::Pattern::create(w->loop_->memory(), requests.longest());
  if (!pattern) return tl::unexpected(w->without_memory(pattern.error()));
  w->pattern_ = std::make_unique<echo::Pattern>(std::move(*pattern));
  const auto servers = static_cast<std::uint32_t>(options.servers.size());
  const std::uint32_t connections = options.client.connections;
  const std::uint32_t count = servers * connections * options.depth;
  w->slots_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto call = echo::EchoCall::create(w->loop_->memory(), *w->pattern_, requests.longest_result());
    if (!call) return tl::unexpected(w->without_memory(call.error()));
    // Slots are taken in turn: from each server one, then from each connection.
    w->slots_.push_back({std::move(*call), i % servers, i / servers % connections, 0});
    w->free_.push_back(i);
  }
  service::ClientOptions client_options = options.client;
  if (options.reverse) {
    auto served = echo::EchoProgram::create(w->loop_->memory(), requests.longest(),
                                            &service::Loop::read_clock);
    if (!served) return tl::unexpected(w->without_memory(served.error()));
    w->echo_ = std::move(*served);
    w->programs_.push_back(w->echo_.get());
    client_options.programs = w->programs_;
    client_options.reverse.credits = options.reverse->depth;
    // Besides the load's own Calls there are Calls that request reverse Calls. They have slots and
    // credits of their own: one waits until the reverse Calls end, and another may have to stop
    // them.
    client_options.requester.max_calls += 4;
    client_options.requester.credits += 2;
    w->reverse_.emplace(*options.reverse, options.client.connections, options.seed);
  }
  for (std::uint32_t i = 0; i < servers; ++i) {
    client_options.server = options.servers[i].address;
    client_options.port = options.servers[i].port;
    auto link = std::make_unique<Link>(*w, i);
    auto client = service::Client::create(*w->loop_, client_options, *link);
    if (!client) return tl::unexpected(client.error());
    link->client = std::move(*client);
    w->links_.push_back(std::move(link));
  }
  return w;
}

fabric::Error LoadWorker::without_memory(const fabric::Error& error) const {
  if (error.code != fabric::Errc::kNoRoom) return error;
  const std::uint32_t connections = this->connections();
  return {error.code,
          fmt::format("a thread can register at most {} of memory, which is too little for the "
                      "data of {} connection{} with {} Call{} each of up to {}; give a smaller "
                      "--size, --depth or --connections",
                      base::format_bytes(loop_->memory().limit()), connections,
                      connections == 1 ? "" : "s", options_.depth, options_.depth == 1 ? "" : "s",
                      base::format_bytes(requests_.longest()))};
}

std::optional<load::Packets> LoadWorker::packets() const {
  if (provider_.soft == nullptr) return std::nullopt;
  const soft::QpCounters c = provider_.soft->counters().queue_pairs;
  return load::Packets{c.retransmitted, c.naks_in, c.rnr_in};
}

std::optional<load::DeviceWork> LoadWorker::device_work() const {
  if (provider_.verbs == nullptr) return std::nullopt;
  return cli::device_work(worked_before_, provider_.verbs->counters());
}

Expected<void> LoadWorker::connect() {
  while (up() != connections() && !Interrupt::came()) {
    const auto going = loop_->run_once();
    if (!going) return tl::unexpected(going.error());
    if (!failure_.empty()) return fabric::fail(fabric::Errc::kNotConnected, failure_);
  }
  return {};
}

std::uint32_t LoadWorker::up() const {
  std::uint32_t up = 0;
  for (const auto& link : links_) up += link->client->up();
  return up;
}

std::uint32_t LoadWorker::connections() const {
  return options_.client.connections * static_cast<std::uint32_t>(options_.servers.size());
}

std::string LoadWorker::which(std::uint32_t link) const {
  return options_.servers.size() < 2 ? std::string() : options_.servers[link].text + ": ";
}

std::uint64_t LoadWorker::lost() const {
  std::uint64_t lost = 0;
  for (const auto& link : links_) lost += link->client->counters().lost;
  return lost;
}

std::uint64_t LoadWorker::stalls() const {
  std::uint64_t stalls = 0;
  for (const auto& link : links_) stalls += link->client->counters().requester.stalls;
  return stalls;
}

Expected<void> LoadWorker::run(Time start, Time since_first) {
  running_ = true;
  tally_.set_epoch(start);
  over_time_.begin(start, since_first);
  auto result = wait_for(start);
  if (result) result = generate();
  over_time_.end();
  // An interruption can come before the connections are established.
  if (!loss_.empty()) down_ = connections() - up();
  return result;
}

Expected<void> LoadWorker::wait_for(Time start) {
  // The loop's timer may be late by a scheduler's tick, so the last part is spent polling.
  constexpr Time kPolled = fabric::kMillisecond;
  while (!Interrupt::came() && service::Loop::read_clock() < start) {
    const Time left = start - service::Loop::read_clock();
    const auto going = loop_->run_once(std::max<Time>(left - kPolled, 0));
    if (!going) return tl::unexpected(going.error());
  }
  // Its clock is that of the iteration.
  const auto going = loop_->run_once(0);
  if (!going) return tl::unexpected(going.error());
  return {};
}

Expected<void> LoadWorker::generate() {
  begun_ = ended_ = loop_->now();
  pacer_.begin(begun_);
  if (provider_.verbs != nullptr) worked_before_ = provider_.verbs->counters();
  if (reverse_) {
    service::Client& client = *links_.front()->client;
    for (std::uint32_t i = 0; i < client.connections(); ++i) reverse_->on_connected(client, i);
  }
  Time give_up = fabric::kNever;
  while (true) {
    if (Interrupt::came() && give_up == fabric::kNever) {
      pacer_.stop(loop_->now());
      give_up = loop_->now() + kDrainTime;
    }
    // Reverse Calls have limits of their own.
    if (!reverse_ && give_up == fabric::kNever && loop_->now() >= pacer_.end()) {
      give_up = loop_->now() + kLastReplies;
    }
    if (give_up == fabric::kNever && loop_->now() >= dead_at()) {
      pacer_.stop(loop_->now());
      give_up = loop_->now();
    }
    begin_due();
    if (reverse_) {
      reverse_->expire(served(), loop_->now());
      if (failure_.empty()) failure_ = reverse_->failure();
    }
    if (!failure_.empty()) return fabric::fail(fabric::Errc::kBadArgument, failure_);
    if (reverse_ && !reverse_stopped_ && loop_->now() >= pacer_.end()) {
      reverse_->stop(*links_.front()->client);
      reverse_stopped_ = true;
    }
    const bool reverse_over = !reverse_ || reverse_->over();
    if (!reverse_over) ended_ = loop_->now();
    bool over = !options_.forward || pacer_.due(loop_->now()) == fabric::kNever;
    // Calls at a rate fill their time: 2 Calls in 4 s are 0.5 per second.
    if (options_.pace.rate != 0 && pacer_.end() != fabric::kNever) {
      over = over && (loop_->now() >= pacer_.end() || pacer_.all_taken());
    }
    if (over && free_.size() == slots_.size() && reverse_over) return {};
    if (loop_->now() >= give_up) {
      ended_ = loop_->now();
      return {};
    }
    const Time until = wait_until(give_up);
    const auto going = loop_->run_once(until == fabric::kNever ? until : until - loop_->now());
    if (!going) return tl::unexpected(going.error());
  }
}

std::uint64_t LoadWorker::served() const {
  const auto& calls = echo_->counters().calls;
  return std::accumulate(std::begin(calls), std::end(calls), std::uint64_t{0});
}

Time LoadWorker::wait_until(Time give_up) const {
  // Without a free slot, only an outcome allows another Call.
  Time due = fabric::kNever;
  if (options_.forward && !free_.empty()) due = pacer_.due(loop_->now());
  // At its end, reverse Calls are stopped, or the last Replies get their limit.
  if (reverse_ ? !reverse_stopped_ : give_up == fabric::kNever) due = std::min(due, pacer_.end());
  if (reverse_) due = std::min(due, reverse_->deadline());
  if (give_up == fabric::kNever) due = std::min(due, dead_at());
  return std::max(std::min(due, give_up), loop_->now());
}

Time LoadWorker::dead_at() const {
  if (all_down_since_ == fabric::kNever || pacer_.end() != fabric::kNever) return fabric::kNever;
  return options_.timeout < fabric::kNever - all_down_since_ ? all_down_since_ + options_.timeout
                                                             : fabric::kNever;
}

void LoadWorker::begin_due() {
  if (!options_.forward) return;
  const Time now = loop_->now();
  while (!free_.empty() && failure_.empty()) {
    const Time due = pacer_.due(now);
    if (due > now) return;
    pacer_.took();
    const std::uint32_t slot = free_.front();
    free_.pop_front();
    begin(slot, due);
  }
}

void LoadWorker::begin(std::uint32_t number, Time due) {
  Slot& slot = slots_[number];
  slot.due = due;
  auto spec = slot.call.begin(requests_.next(random_));
  if (spec) {
    spec->timeout = options_.timeout;
    spec->cookie = number;
    const auto called = links_[slot.link]->client->call_on(slot.connection, *spec);
    if (called) return;
    failure_ = called.error().message;
  } else {
    failure_ = spec.error().message;
  }
  if (failure_.empty()) failure_ = "a Call could not be sent";
  free_.push_front(number);
}

void LoadWorker::on_connected(std::uint32_t link, const service::ConnectionInfo& info) {
  all_down_since_ = fabric::kNever;
  if (running_ && reverse_) reverse_->on_connected(*links_[link]->client, info.number);
}

std::optional<service::callback::Result> LoadWorker::reverse_result() const {
  if (!reverse_) return std::nullopt;
  return reverse_->result();
}

void LoadWorker::on_outcome(std::uint32_t link, const protocol::CallOutcome& outcome,
                            std::uint32_t connection) {
  if ((outcome.cookie & load::ReverseLoad::kCookie) != 0)
    return reverse_->on_outcome(*links_[link]->client, outcome);
  const auto number = static_cast<std::uint32_t>(outcome.cookie);
  Slot& slot = slots_[number];
  const echo::Verdict verdict = slot.call.check(outcome);
  load::Sample sample;
  switch (verdict) {
    case echo::Verdict::kRight:
      break;
    case echo::Verdict::kMalformed:
    case echo::Verdict::kWrongData:
      sample.end = load::End::kMismatch;
      tally_.add_reason(echo::verdict_name(verdict));
      break;
    case echo::Verdict::kStatus:
      sample.end = load::End::kError;
      ++bad_status_;
      tally_.add_reason(refusal_text(verdict, slot.call, outcome));
      break;
    case echo::Verdict::kRpcError: {
      const service::ReplyReader reply(outcome);
      sample.end = load::End::kError;
      ++rpc_errors_[static_cast<std::size_t>(reply.status())];
      tally_.add_reason(refusal_text(verdict, slot.call, outcome));
      break;
    }
  }
  const echo::Request& request = slot.call.request();
  sample.procedure = static_cast<std::uint32_t>(request.proc);
  sample.bytes = echo::EchoCall::payload_bytes(request);
  sample.due = slot.due;
  sample.times = outcome.times;
  if (const auto server = slot.call.server_times()) {
    sample.server = {server->reading, server->working};
  }
  sample.attempts = outcome.attempts;
  tally_.add(sample);
  if (outcome.status == protocol::CallStatus::kReplied)
    durations_[sample.procedure].add(outcome.times.ended - outcome.times.called);
  if (options_.series) over_time_.add(sample);
  if (options_.raw != nullptr && sample.end == load::End::kRight) {
    options_.raw->add(sample.times.ended - sample.due);
  }
  if (options_.intervals) note_in_interval(sample, link, connection);
  ended_ = std::max(ended_, outcome.times.ended);
  shown_.calls.store(tally_.right(), std::memory_order_relaxed);
  shown_.failed.store(tally_.calls() - tally_.right(), std::memory_order_relaxed);
  shown_.bytes.store(tally_.bytes(), std::memory_order_relaxed);
  free_.push_back(number);
  // The next Call is sent in the same batch.
  if (!Interrupt::came()) begin_due();
}

void LoadWorker::on_lost(std::uint32_t link, std::uint32_t connection, std::string_view what,
                         Time /*retry*/) {
  const service::ConnectionInfo& info = links_[link]->client->info(connection);
  loss_ = which(link) + std::string(what);
  if (running_ && up() == 0 && all_down_since_ == fabric::kNever) {
    all_down_since_ = loop_->now();
  }
  if (options_.intervals) {
    const std::scoped_lock lock(interval_mutex_);
    granted_[place(link, connection)] = 0;
  }
  // Once established, connections are reestablished automatically.
  if (running_ && !info.refused) return;
  if (failure_.empty()) failure_ = fmt::format("{}{}", loss_, version_hint(info));
}

void LoadWorker::disconnect() {
  for (const auto& link : links_) link->client->close();
  const auto closed = [&] {
    return std::ranges::all_of(links_, [](const auto& link) { return link->client->closed(); });
  };
  const Time until = loop_->now() + (abandoned() == 0 ? kDrainTime : kCloseUnanswered);
  while (!closed() && loop_->now() < until) {
    const auto going = loop_->run_once(until - loop_->now());
    if (!going || !*going) return;
  }
}

metrics::Parts LoadWorker::metrics_parts() {
  // With several servers, the metrics of a client are those of the first.
  return {loop_.get(), provider_.soft, nullptr, links_.front()->client.get(),
          [this](metrics::Snapshot& snapshot) { report(snapshot); }};
}

void LoadWorker::report(metrics::Snapshot& snapshot) const {
  for (std::uint32_t i = 0; i < echo::kProcedures; ++i) {
    add_echo_calls(snapshot, echo::Proc{i}, tally_.procedure(i).calls, durations_[i]);
  }
  using service::RpcStatus;
  for (const RpcStatus status :
       {RpcStatus::kProgUnavail, RpcStatus::kProgMismatch, RpcStatus::kProcUnavail,
        RpcStatus::kGarbageArgs, RpcStatus::kSystemErr, RpcStatus::kRpcMismatch,
        RpcStatus::kAuthError}) {
    snapshot.client_errors.push_back({metrics::ErrorClass::kRpcError,
                                      service::rpc_status_name(status),
                                      rpc_errors_[static_cast<std::size_t>(status)]});
  }
  const auto malformed = static_cast<std::size_t>(RpcStatus::kMalformed);
  snapshot.client_errors.push_back(
      {metrics::ErrorClass::kViolation, "malformed", rpc_errors_[malformed]});
  snapshot.client_errors.push_back({metrics::ErrorClass::kFailure, "status", bad_status_});
  snapshot.client_errors.push_back(
      {metrics::ErrorClass::kViolation, "wrong_data", tally_.mismatches()});
}

void LoadWorker::note_in_interval(const load::Sample& sample, std::uint32_t link,
                                  std::uint32_t connection) {
  const std::scoped_lock lock(interval_mutex_);
  granted_[place(link, connection)] = links_[link]->client->requester(connection).granted();
  if (sample.end != load::End::kRight) {
    ++interval_.errors;
    return;
  }
  ++interval_.calls;
  interval_.bytes += sample.bytes;
  interval_.latency.add(sample.times.ended - sample.due);
}

load::Interval LoadWorker::take_interval() {
  const std::scoped_lock lock(interval_mutex_);
  load::Interval taken = std::exchange(interval_, {});
  for (const std::uint32_t granted : granted_) {
    taken.credits += granted;
    taken.connections += granted != 0 ? 1 : 0;
  }
  return taken;
}

load::Progress LoadWorker::progress() const {
  return {shown_.calls.load(std::memory_order_relaxed),
          shown_.failed.load(std::memory_order_relaxed),
          shown_.bytes.load(std::memory_order_relaxed)};
}

}  // namespace rpcrdma::cli
