#include "side.h"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

namespace rpcrdma::playground {

namespace {

using fabric::Time;

constexpr Time kShowEach = 50 * fabric::kMillisecond;
// Wait for a peer that no longer answers.
constexpr Time kPatience = 1500 * fabric::kMillisecond;

}  // namespace

fabric::Expected<void> Side::make_loop(trace::Tracer* tracer) {
  auto loop = service::Loop::create(*provider_, {.memory = {}, .spin = 0, .tracer = tracer});
  if (!loop) return tl::unexpected(loop.error());
  loop_ = std::move(*loop);
  return {};
}

fabric::Expected<void> Side::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    return fabric::fail(fabric::Errc::kSystem, fmt::format("cannot start a thread: {}", e.what()));
  }
  return {};
}

void Side::end() {
  if (!thread_.joinable()) return;
  stop_.store(true);
  loop_->wake();
  thread_.join();
}

void Side::wake() {
  mail_.store(true, std::memory_order_release);
  loop_->wake();
}

void Side::set_faults(soft::FaultPlan faults) {
  {
    const std::scoped_lock lock(mailbox_mutex_);
    faults_ = std::move(faults);
  }
  wake();
}

PlaygroundStats Side::shown() const {
  const std::scoped_lock lock(shown_mutex_);
  return shown_;
}

void Side::empty_mailbox() {
  const std::scoped_lock lock(mailbox_mutex_);
  if (faults_) provider_->set_faults(std::move(*faults_));
  faults_.reset();
  take_mail();
}

void Side::show_now() {
  PlaygroundStats stats;
  const soft::ProviderCounters counters = provider_->counters();
  stats.retransmitted = counters.queue_pairs.retransmitted;
  stats.faults = counters.faults;
  show(stats);
  stats.problem = problem_;
  const std::scoped_lock lock(shown_mutex_);
  shown_ = std::move(stats);
}

void Side::run() {
  Time shown_at = 0;
  Time end_by = fabric::kNever;
  bool news = true;
  while (true) {
    if (mail_.exchange(false, std::memory_order_acquire)) empty_mailbox();
    if (stop_.load() && !ending_) {
      ending_ = true;
      end_by = loop_->now() + kPatience;
      begin_end();
    }
    Time until = work(loop_->now());
    const Time now = loop_->now();
    if (ending_ && (ended() || now >= end_by)) break;
    if (news && now - shown_at >= kShowEach) {
      show_now();
      shown_at = now;
      news = false;
    }
    until = std::min(until, end_by);
    if (news) until = std::min(until, shown_at + kShowEach);
    const auto going =
        loop_->run_once(until == fabric::kNever ? until : std::max<Time>(until - now, 0));
    if (!going) {
      emit(going.error().message);
      break;
    }
    news = true;
  }
  show_now();
}

}  // namespace rpcrdma::playground
