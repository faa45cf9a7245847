// Runs one load in this process.
#include "load/runner.h"

#include "input.h"
#include "interrupt.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/thread.h>
#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::cli {

namespace {

using fabric::Time;
using Workers = std::vector<std::unique_ptr<LoadWorker>>;

// Without an RDMA device each thread has an address of its own: those after --from, except the
// servers'.
fabric::Address address_of(const LoadPlan& plan, std::uint32_t thread) {
  fabric::Address own = plan.from;
  if (plan.endpoint.kind == ProviderKind::kVerbs) return own;
  for (std::uint32_t left = thread; left != 0;) {
    ++own.bytes[3];
    const auto is_own = [&](const LoadServer& s) { return s.address == own; };
    if (std::ranges::none_of(plan.servers, is_own)) --left;
  }
  return own;
}

tl::expected<std::unique_ptr<LoadWorker>, std::string> make_worker(const LoadPlan& plan,
                                                                   const LoadRunOptions& options,
                                                                   std::uint32_t thread,
                                                                   RawFile* raw,
                                                                   trace::Tracer* tracer) {
  HeldComplaints held;
  auto provider = open_provider(plan.endpoint, address_of(plan, thread), tracer, "load");
  if (!provider) return tl::unexpected(held.take_last("load", "the provider cannot be opened"));
  WorkerOptions w;
  w.tracer = tracer;
  apply(plan.endpoint, w.client);
  w.servers = plan.servers;
  w.client.connect_timeout = connect_timeout(plan.timeout);
  w.client.connections =
      plan.connections / plan.threads + (thread < plan.connections % plan.threads ? 1 : 0);
  w.client.requester.credits = w.client.requester.max_calls = plan.depth;
  w.client.requester.offer_nothing = plan.no_offer;
  w.depth = plan.depth;
  w.timeout = plan.timeout;
  w.spin = plan.endpoint.spin;
  w.pace = plan.pace;
  w.pace.thread = thread;
  w.seed = plan.seed + thread * 0x632be59bd9b4e019U;
  w.forward = !plan.reverse;
  w.intervals = options.intervals;
  w.series = options.series;
  w.raw = raw;
  const std::uint64_t count = plan.pace.count;
  const std::uint64_t share = count / plan.threads + (thread < count % plan.threads ? 1 : 0);
  if ((plan.reverse || plan.both) && (count == 0 || share != 0)) {
    soft::Random random(w.seed);
    w.reverse = load::ReversePlan{share, plan.requests.next(random), plan.depth, plan.timeout};
  }
  auto worker = LoadWorker::create(std::move(provider), w, plan.requests);
  if (!worker) return tl::unexpected(worker.error().message);
  return std::move(*worker);
}

Time as_time(const timeval& t) {
  return t.tv_sec * fabric::kSecond + t.tv_usec * fabric::kMicrosecond;
}

load::Progress sum(const Workers& workers) {
  load::Progress all;
  for (const auto& w : workers) {
    const load::Progress p = w->progress();
    all.calls += p.calls;
    all.failed += p.failed;
    all.bytes += p.bytes;
  }
  return all;
}

load::Interval take_interval(const Workers& workers) {
  load::Interval all;
  for (const auto& w : workers) all.merge(w->take_interval());
  return all;
}

void collect(const Workers& workers, Time start, load::Result& r, load_ranks::Results& results,
             load_ranks::Row& row) {
  Time begun = fabric::kNever;
  Time ended = 0;
  Time planned = 0;
  for (const auto& w : workers) {
    r.tally.merge(w->tally());
    begun = std::min(begun, w->begun());
    row.skew = std::max(row.skew, w->begun() - start);
    ended = std::max(ended, w->ended());
    planned = std::max(planned, w->planned());
    r.down += w->down();
    if (w->down() != 0) r.why_down = plot::escape_terminal(w->why_down());
    r.not_begun += w->not_begun();
    r.abandoned += w->abandoned();
    if (const auto packets = w->packets()) {
      if (!r.packets) r.packets.emplace();
      r.packets->retransmitted += packets->retransmitted;
      r.packets->naks += packets->naks;
      r.packets->rnrs += packets->rnrs;
    }
    if (const auto work = w->device_work()) {
      if (!r.device_work) r.device_work.emplace();
      *r.device_work += *work;
    }
    r.lost += w->lost();
    r.stalls += w->stalls();
    if (const auto reverse = w->reverse_result()) {
      if (!r.reverse) r.reverse.emplace();
      r.reverse->right += reverse->right;
      r.reverse->wrong += reverse->wrong;
      r.reverse->failed += reverse->failed;
      r.reverse->resent += reverse->resent;
    }
    row.series.merge(w->series());
    results.latency.merge(w->latency());
    results.latency_over_time.merge(w->latency_over_time());
  }
  r.elapsed = std::max(ended - begun, planned);
}

// No exception may leave a thread.
fabric::Expected<void> run_or_fail(LoadWorker& worker, Time start, Time since_first) {
  return fabric::or_out_of_memory([&] { return worker.run(start, since_first); });
}

}  // namespace

std::string own_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

LoadRunner::LoadRunner(const LoadPlan& plan, LoadRunOptions options, std::unique_ptr<RawFile> raw,
                       Workers workers)
    : plan_(plan),
      options_(std::move(options)),
      raw_(std::move(raw)),
      workers_(std::move(workers)) {}

LoadRunner::~LoadRunner() = default;

tl::expected<std::unique_ptr<LoadRunner>, std::string> LoadRunner::open(const LoadPlan& plan,
                                                                        LoadRunOptions options,
                                                                        Tracing& tracing) {
  std::unique_ptr<RawFile> raw;
  if (!plan.raw.empty()) {
    auto file = RawFile::open(plan.raw);
    if (!file) return tl::unexpected(file.error());
    raw = std::move(*file);
  }
  Workers workers;
  for (std::uint32_t i = 0; i < plan.threads; ++i) {
    auto worker = make_worker(plan, options, i, raw.get(), tracing.add());
    if (!worker) return tl::unexpected(worker.error());
    workers.push_back(std::move(*worker));
  }
  return std::unique_ptr<LoadRunner>(
      new LoadRunner(plan, std::move(options), std::move(raw), std::move(workers)));
}

std::vector<service::Loop*> LoadRunner::loops() {
  std::vector<service::Loop*> loops;
  for (const auto& w : workers_) loops.push_back(&w->loop());
  return loops;
}

std::vector<metrics::Parts> LoadRunner::metrics_parts() {
  std::vector<metrics::Parts> parts;
  for (const auto& w : workers_) parts.push_back(w->metrics_parts());
  return parts;
}

tl::expected<void, std::string> LoadRunner::connect() {
  for (const auto& w : workers_) {
    if (const auto connected = w->connect(); !connected) {
      return tl::unexpected(
          plan_.servers.size() > 1
              ? connected.error().message
              : fmt::format("{}: {}", plan_.servers.front().text, connected.error().message));
    }
  }
  return {};
}

LoadRunner::Outcome LoadRunner::run(Time start, const LoadRole& role) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t done = 0;
  Outcome outcome;
  std::vector<std::thread> threads;
  threads.reserve(workers_.size());
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  const bool at_once = start == 0;
  if (at_once) start = base::monotonic_ns();
  for (const auto& w : workers_) {
    auto started = base::start_thread([&, worker = w.get()] {
      const auto result = run_or_fail(*worker, start, role.since_first);
      const std::scoped_lock lock(mutex);
      // The same error from several workers is reported once.
      auto& problems = outcome.problems;
      if (!result && std::ranges::find(problems, result.error().message) == problems.end()) {
        problems.push_back(result.error().message);
      }
      ++done;
      changed.notify_one();
    });
    if (!started) {
      // A load of fewer threads would be another load than the one that was asked for.
      const std::scoped_lock lock(mutex);
      outcome.problems.push_back(started.error().message);
      done += workers_.size() - threads.size();
      Interrupt::request();
      break;
    }
    threads.push_back(std::move(*started));
  }
  LoadTick tick;
  Time last = start;
  const auto emit = [&](Time now) {
    if (options_.intervals) tick.interval = take_interval(workers_);
    tick.progress = sum(workers_);
    // The interval that ended at the latest multiple; of the last one, where it began, since its
    // end may be a moment after a multiple. After a pause of this process, the intervals that it
    // missed are one.
    const Time multiples = std::max<Time>(now - start, 0) / options_.interval;
    const auto index = static_cast<std::uint64_t>(
        tick.last ? (last - start + options_.interval / 2) / options_.interval : multiples - 1);
    tick.index = last == start ? index : std::max(index, tick.index + 1);
    tick.elapsed = now - start;
    tick.length = now - last;
    last = now;
    if (options_.on_tick && !options_.on_tick(tick)) Interrupt::request();
  };
  {
    std::unique_lock lock(mutex);
    const auto all_done = [&] { return done == workers_.size(); };
    Time next = start + options_.interval;
    // steady_clock is CLOCK_MONOTONIC.
    const auto time_of = [](Time t) {
      return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(t));
    };
    while (!changed.wait_until(lock, time_of(next), all_done)) {
      lock.unlock();
      const Time now = base::monotonic_ns();
      // Ends late by the delay of this thread; the interval is named by when it should end.
      emit(now);
      next += options_.interval * ((now - next) / options_.interval + 1);
      lock.lock();
    }
  }
  for (std::thread& t : threads) t.join();
  ::getrusage(RUSAGE_SELF, &after);
  tick.last = true;
  emit(std::max(base::monotonic_ns(), last));
  load::Result& r = outcome.result;
  load_ranks::Row row;
  row.rank = role.rank;
  row.round = role.round;
  row.host = role.host;
  row.offset = role.offset;
  row.from = plan_.from.to_string();
  for (const LoadServer& server : plan_.servers) row.servers.push_back(server.text);
  collect(workers_, start, r, outcome.results, row);
  r.user = as_time(after.ru_utime) - as_time(before.ru_utime);
  r.system = as_time(after.ru_stime) - as_time(before.ru_stime);
  r.interrupted = Interrupt::came();
  r.failed = plan_.limits.passed(r.tally, {r.not_begun, r.abandoned});
  if (raw_) {
    if (const auto written = raw_->finish(); !written) outcome.problems.push_back(written.error());
  }
  if (!outcome.problems.empty()) {
    row.state = load_ranks::State::kFailed;
    row.why = outcome.problems.front();
  }
  load_ranks::fill(row, r);
  if (at_once) row.skew = 0;  // nobody waits for this start
  outcome.results.rows.push_back(std::move(row));
  outcome.results.rounds.push_back({role.round, role.since_first});
  outcome.results.tally = r.tally;
  return outcome;
}

void LoadRunner::disconnect() {
  for (const auto& w : workers_) w->disconnect();
}

}  // namespace rpcrdma::cli
