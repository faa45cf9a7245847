// Endpoints of every kind exist at the same time, each with its server, and run alternately for
// some tens of milliseconds: on a shared machine the speed varies by more than tracing costs, but
// rarely so fast. Each slice is compared with the same slice of endpoints without a tracer; the
// median of these ratios is printed with its 95 % confidence interval. All endpoints are rebuilt
// several times, since the placement of memory affects the result, too. Servers that poll would
// compete for their processor, so only one of them exists at a time.
#include "trace_calls.h"

#include "trace_scope.h"
#include "two_cores.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <time.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::bench {
namespace {

// kBeside: endpoints without a tracer, while another program's events keep the other processor as
// busy as their readers would. Processors share caches, memory and their clock: the cost of a
// neighbour is not a cost of tracing.
// kToStill: a reader that is attached and does not read, so that its queue is full.
enum class Recorded : std::uint8_t { kNever, kToNobody, kToReaders, kBeside, kToStill };
constexpr std::size_t kRecorded = 5;
constexpr const char* kEmittedNames[kRecorded] = {
    "no tracer", "without readers", "reader and recording", "no tracer, busy neighbour",
    "a reader that stands still"};

constexpr int kMade = 40;                              // number of rebuilds
constexpr int kTurns = 6;                              // of each kind, per rebuild
constexpr auto kRest = std::chrono::milliseconds(10);  // after each

double cpu_seconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// Emits events to a hub, a reader and a recording of its own, in a thread of its own.
class Neighbour {
 public:
  Neighbour() : scope_(folder_.path), thread_([this] { run(); }) {}
  ~Neighbour() {
    stop_ = true;
    set_rate(1);
    thread_.join();
    scope_.finish();
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Sets events per second; 0: it sleeps.
  void set_rate(double rate) {
    rate_ = rate;
    rate_.notify_one();
  }

 private:
  void run() {
    while (!stop_) {
      rate_.wait(0);
      const double rate = rate_;
      const std::int64_t begin = now_ns();
      for (double before = 0; !stop_ && rate_ == rate;) {
        const double due = rate * static_cast<double>(now_ns() - begin) / 1e9;
        for (; before < due; before += kEventsOfACall) trace_call(scope_.tracer, now_ns(), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

  Folder folder_;
  Scope scope_;
  std::atomic<double> rate_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// One slice; times per Call.
struct Turn {
  double p50 = 0, p99 = 0, seconds = 0, cpu = 0;
  double others_cpu = 0;     // of all other threads of the program
  std::uint64_t events = 0;  // emitted in total
};

// Both ends of a load, with their readers on the other processor.
class Setup {
 public:
  Setup(Recorded before, const TracedLoad& load) : load_(load) {
    // Also applies to threads that a hub and a reader start.
    pin_to(1);
    if (before == Recorded::kBeside) {
      neighbour_.emplace();
    } else if (before == Recorded::kToReaders) {
      scope_.emplace(folder_.path, load.one_in);
      emit(*scope_->hub, scope_->tracer);
    } else if (before == Recorded::kToNobody || before == Recorded::kToStill) {
      constexpr std::size_t kSmall = std::size_t{256} << 10;  // full in the first slice
      quiet_ = must(trace::Hub::start({.name = "bench", .reader_bytes = kSmall}));
      must(quiet_->open_socket());
      emit(*quiet_, quiet_->add());
    }
    if (before == Recorded::kToStill) {
      still_ = must(trace::connect_endpoint(quiet_->socket_path()));
      while (!trace::on(tracers_[1])) std::this_thread::yield();
    }
    pin_to(0);
    const auto last = static_cast<std::uint8_t>(kClient + 2 * static_cast<int>(before));
    const auto server_last = static_cast<std::uint8_t>(last + 1);
    server_.emplace(load.spin, load.server, tracers_[0], server_last);
    calls_.emplace(load.spin, load.connections, load.depth, load.request.length, tracers_[1], last,
                   server_last);
  }

  // `events_a_second`: of a neighbour.
  Turn turn(double events_a_second) {
    // 1/10 of the slice: fills the caches with this kind's data.
    constexpr std::uint64_t kWarmUp = 10;
    if (neighbour_) neighbour_->set_rate(events_a_second);
    calls_->timed = false;
    (void)calls_->run(load_.request, load_.slice / kWarmUp);
    calls_->timed = true;
    calls_->us.clear();
    const std::uint64_t before = emitted();
    const double all = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID), own = own_cpu();
    const auto calls = static_cast<double>(load_.slice);
    Turn turn;
    turn.seconds = 1 / calls_->run(load_.request, load_.slice);
    turn.cpu = (own_cpu() - own) / calls;
    turn.others_cpu = (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - all) / calls - turn.cpu;
    turn.events = emitted() - before;
    const Percentiles p = percentiles(calls_->us);
    turn.p50 = p.p50;
    turn.p99 = p.p99;
    if (neighbour_) neighbour_->set_rate(0);
    // Lets readers catch up, so that they do not disturb the next slice.
    std::this_thread::sleep_for(kRest);
    return turn;
  }

  struct Loss {
    std::uint64_t emitted = 0, of_reader = 0, of_recording = 0;
    std::uint64_t of_still = 0;  // of a reader that stands still
  };
  // Ends it, and adds its losses to the sums.
  void finish(Loss& sums) {
    calls_.reset();
    server_.reset();
    if (still_) sums.of_still += quiet_->lost_to_readers();
    if (!scope_) return;
    scope_->finish();
    const auto recorded = scope_->hub->recordings().front();
    if (!recorded.error.empty()) die(recorded.error);
    sums.emitted += scope_->reader->emitted;
    sums.of_reader += scope_->reader->lost;
    sums.of_recording += recorded.lost;
  }

 private:
  void emit(trace::Hub& hub, trace::Tracer* first) { tracers_ = {first, hub.add()}; }
  [[nodiscard]] double own_cpu() {
    return cpu_seconds(CLOCK_THREAD_CPUTIME_ID) + server_->cpu_seconds();
  }
  [[nodiscard]] std::uint64_t emitted() const {
    std::uint64_t sum = 0;
    for (trace::Tracer* const t : tracers_) sum += t == nullptr ? 0 : t->ring().emitted();
    return sum;
  }

  const TracedLoad& load_;
  Folder folder_;
  std::optional<Scope> scope_;
  std::unique_ptr<trace::Hub> quiet_;
  std::optional<base::FileDescriptor> still_;
  std::optional<Neighbour> neighbour_;
  std::array<trace::Tracer*, 2> tracers_{};  // the server's, the client's
  std::optional<RunningServer> server_;
  std::optional<Calls> calls_;
};

double median(std::vector<double> values) {
  return percentiles(values).p50;
}

std::vector<double> of_each(const std::vector<Turn>& turns, double Turn::*what) {
  std::vector<double> values;
  for (const Turn& t : turns) values.push_back(t.*what);
  return values;
}

// The median of the ratios and its 95 % confidence interval, in percent above 1: the interval's
// ends are ranks of the binomial distribution.
struct More {
  double median = 0, low = 0, high = 0;
};
More more(const std::vector<double>& values, const std::vector<double>& than) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i) ratios.push_back(100 * (values[i] / than[i] - 1));
  std::sort(ratios.begin(), ratios.end());
  const auto n = static_cast<double>(ratios.size());
  const auto beyond = static_cast<std::size_t>(std::max(0.0, n / 2 - 0.98 * std::sqrt(n)));
  return {ratios[ratios.size() / 2], ratios[beyond], ratios[ratios.size() - 1 - beyond]};
}

void print(const char* what, const More& m) {
  std::printf("    %-24s %+6.1f %%  (%+.1f to %+.1f)\n", what, m.median, m.low, m.high);
}

}  // namespace

void compare_tracing(const TracedLoad& load, bool readers) {
  const std::size_t kinds = readers ? kRecorded : 2;
  constexpr auto kToReaders = static_cast<std::size_t>(Recorded::kToReaders);
  constexpr auto kBeside = static_cast<std::size_t>(Recorded::kBeside);
  std::array<std::vector<Turn>, kRecorded> of;
  Setup::Loss loss;
  std::uint64_t events = 0;
  std::vector<std::size_t> order(kinds);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random;  // each run uses the same orders
  for (int made = 0; made < kMade; ++made) {
    std::vector<std::unique_ptr<Setup>> setups(kinds);
    double events_a_second = 0;  // with readers, in the last slice
    for (int turn = -1; turn < kTurns; ++turn) {
      // Caches and clock rates depend on the previous slice.
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t kind : order) {
        auto& setup = setups[kind];
        if (!setup) setup = std::make_unique<Setup>(static_cast<Recorded>(kind), load);
        const Turn t = setup->turn(events_a_second);
        if (load.spin != 0) std::exchange(setup, {})->finish(loss);
        if (kind == kToReaders) {
          events_a_second =
              static_cast<double>(t.events) / (t.seconds * static_cast<double>(load.slice));
        }
        if (turn < 0) continue;
        of[kind].push_back(t);
        if (kind == kToReaders) events += t.events;
      }
    }
    for (const auto& setup : setups) {
      if (setup) setup->finish(loss);
    }
  }

  std::printf("%s\n", load.name);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto values = [&](double Turn::*what) { return of_each(of[kind], what); };
    const auto against = [&](std::size_t other, double Turn::*what) {
      return more(values(what), of_each(of[other], what));
    };
    std::printf("  %-25s p50 %7.2f us  p99 %7.2f us  %7.0f Calls/s  processor %6.3f us a Call",
                kEmittedNames[kind], median(values(&Turn::p50)), median(values(&Turn::p99)),
                1 / median(values(&Turn::seconds)), 1e6 * median(values(&Turn::cpu)));
    if (kind == kToReaders || kind == static_cast<std::size_t>(Recorded::kToStill)) {
      std::printf(", readers %.3f us", 1e6 * median(values(&Turn::others_cpu)));
    }
    std::printf("\n");
    if (kind == 0) continue;
    print("p50", against(0, &Turn::p50));
    print("p99", against(0, &Turn::p99));
    print("time per Call", against(0, &Turn::seconds));
    print("processor time per Call", against(0, &Turn::cpu));
    if (kind == kBeside) {
      print("tracing, relative to this",
            more(of_each(of[kToReaders], &Turn::cpu), values(&Turn::cpu)));
    }
  }
  if (!readers) return;
  std::printf("  the reader that stands still lost %llu events\n",
              static_cast<unsigned long long>(loss.of_still));
  const auto percent = [&](std::uint64_t lost) {
    return 100 * static_cast<double>(lost) / static_cast<double>(loss.emitted);
  };
  std::printf(
      "  %.1f events a Call, both ends, %llu in all; the reader lost %llu (%.3f %%), the "
      "recording %llu (%.3f %%)\n",
      static_cast<double>(events) / static_cast<double>(load.slice * of[kToReaders].size()),
      static_cast<unsigned long long>(loss.emitted),
      static_cast<unsigned long long>(loss.of_reader), percent(loss.of_reader),
      static_cast<unsigned long long>(loss.of_recording), percent(loss.of_recording));
}

}  // namespace rpcrdma::bench
