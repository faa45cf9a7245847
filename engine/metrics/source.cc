#include <utility>

#include <rpcrdma/metrics/source.h>

namespace rpcrdma::metrics {

namespace {

ServerFigures figures(const service::Server& server) {
  return {server.counters(), server.connections(), server.outstanding(), server.granted(),
          server.options().responder.credits};
}

ClientFigures figures(const service::Client& client) {
  ClientFigures f;
  f.counters = client.counters();
  f.connections = client.up();
  f.outstanding = client.outstanding();
  f.waiting = client.waiting();
  for (std::uint32_t i = 0; i < client.connections(); ++i) {
    if (client.state(i) != service::LinkState::kUp) continue;
    f.granted += client.requester(i).granted();
    f.credits_in_use += client.requester(i).credits_in_use();
  }
  f.most_credits = client.options().requester.credits;
  return f;
}

}  // namespace

Source::Source(Parts parts) : parts_(std::move(parts)) {
  parts_.loop->join(*this);
  snapshot_ = take(parts_.loop->now());
}

Source::~Source() {
  parts_.loop->leave(*this);
}

std::uint64_t Source::ask() {
  const std::uint64_t question = asked_.fetch_add(1) + 1;
  parts_.loop->wake();
  return question;
}

Snapshot Source::wait(std::uint64_t question, std::chrono::steady_clock::time_point until) const {
  Snapshot snapshot;
  {
    std::unique_lock lock(mutex_);
    (void)changed_.wait_until(lock, until, [&] { return published_ >= question; });
    snapshot = snapshot_;
  }
  if (parts_.trace) snapshot.trace = parts_.trace();
  return snapshot;
}

void Source::flush(fabric::Time now) {
  // Several concurrent requests are answered together.
  const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
  if (asked == answered_) return;
  answered_ = asked;
  Snapshot taken = take(now);
  {
    const std::scoped_lock lock(mutex_);
    published_ = asked;
    snapshot_ = std::move(taken);
  }
  changed_.notify_all();
}

Snapshot Source::take(fabric::Time now) const {
  Snapshot s;
  s.taken = now;
  if (parts_.server != nullptr) s.server = figures(*parts_.server);
  if (parts_.client != nullptr) s.client = figures(*parts_.client);
  if (parts_.provider != nullptr) s.packets = parts_.provider->counters();
  protocol::MemoryPool& memory = parts_.loop->memory();
  s.memory = {memory.registered(), memory.in_use(), parts_.loop->options().memory.limit};
  if (parts_.more) parts_.more(s);
  return s;
}

}  // namespace rpcrdma::metrics
