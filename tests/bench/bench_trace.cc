// The cost of emitting events for an endpoint, and the number per second that reach readers.
//
//   bench_trace [hooks|calls|highest|stream]...
//
// hooks: the cost for the emitting thread, without readers, with a ring that is drained meanwhile,
// and with a hub, a reader and a recording on the other core. calls: the cost for Calls from end to
// end, compared with endpoints without a tracer. highest: the same at the highest rate of both
// ends, and the share of lost events; also with a sample of the connections. stream: the highest
// rate of events without loss in the reader or the recording, and the delay of the reader.
#include "trace_calls.h"
#include "trace_scope.h"
#include "two_cores.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace rpcrdma;
using namespace rpcrdma::bench;
using Clock = std::chrono::steady_clock;
using service::echo::Proc;

// Returns nanoseconds per event, over this many Calls.
template <typename Body>
double ns_an_event(std::uint64_t calls, Body&& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() /
         static_cast<double>(calls * kEventsOfACall);
}

void print_hook(const char* what, std::vector<double>& ns) {
  const Percentiles p = percentiles(ns);
  std::printf("%-54s p50 %6.2f ns  p99 %6.2f ns an event\n", what, p.p50, p.p99);
}

void hooks() {
  constexpr std::uint32_t kCalls = 1000;  // their events fit into the ring
  constexpr int kRounds = 500;
  trace::Tracer tracer(1, std::size_t{1} << 20);
  trace::Tracer* hidden = &tracer;
  asm volatile("" : "+r"(hidden));  // hides from the compiler whether it is null
  const auto calls = [&] {
    for (std::uint32_t i = 0; i < kCalls; ++i) trace_call(hidden, i, i);
  };
  std::vector<double> off, on;
  for (int i = 0; i < kRounds; ++i) off.push_back(ns_an_event(kCalls, calls));
  tracer.listen(true);
  for (int i = 0; i < kRounds; ++i) {
    on.push_back(ns_an_event(kCalls, calls));
    tracer.ring().read([](const trace::EventHeader&, std::span<const std::uint8_t>) {});
  }
  print_hook("without readers", off);
  print_hook("with a reader; the ring is drained in between", on);

  const Folder folder;
  Scope scope(folder.path);
  constexpr std::uint32_t kBurst = 20;
  std::vector<double> busy;
  for (int i = 0; i < 20'000; ++i) {
    busy.push_back(ns_an_event(kBurst, [&] {
      for (std::uint32_t n = 0; n < kBurst; ++n) trace_call(scope.tracer, now_ns(), n);
    }));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  scope.finish();
  print_hook("hub, reader and recording at work, bursts of 120", busy);
  std::printf("%-54s %llu of %llu\n", "  of these the reader lost",
              static_cast<unsigned long long>(scope.reader->lost),
              static_cast<unsigned long long>(scope.reader->emitted));
}

struct Sustained {
  bool without_loss = false;
  double rate = 0;  // as reached
  Percentiles late_us;
  std::uint64_t lost = 0, emitted = 0, not_recorded = 0;
};

// Emits this many events per second, for a second.
Sustained sustain(double rate) {
  const Folder folder;
  Scope scope(folder.path);
  constexpr std::uint32_t kBurst = 10;
  const auto events = static_cast<std::uint64_t>(rate);
  const auto begin = Clock::now();
  std::uint64_t emitted = 0;
  while (emitted < events) {
    const auto due = static_cast<std::uint64_t>(
        rate * std::chrono::duration<double>(Clock::now() - begin).count());
    if (emitted >= due) std::this_thread::sleep_for(std::chrono::microseconds(50));
    for (; emitted < due; emitted += kBurst * kEventsOfACall) {
      for (std::uint32_t n = 0; n < kBurst; ++n) trace_call(scope.tracer, now_ns(), n);
    }
  }
  Sustained result;
  result.rate =
      static_cast<double>(emitted) / std::chrono::duration<double>(Clock::now() - begin).count();
  scope.finish();
  const auto recorded = scope.hub->recordings().front();
  if (!recorded.error.empty()) die(recorded.error);
  result.lost = scope.reader->lost;
  result.emitted = scope.reader->emitted;
  result.not_recorded = recorded.lost;
  result.without_loss = result.lost == 0 && recorded.lost == 0;
  result.late_us = percentiles(scope.reader->late_us);
  return result;
}

void stream() {
  constexpr double kFirst = 100'000, kMore = 1.3, kReached = 0.95;
  constexpr int kTries = 3;  // the machine's speed varies
  double most = 0;
  for (double rate = kFirst;; rate *= kMore) {
    Sustained best;
    for (int i = 0; i < kTries && !best.without_loss; ++i) best = sustain(rate);
    std::printf(
        "%6.2f M events/s requested, %6.2f emitted: reader lost %.2f %%, recording %.2f %%; late "
        "p50 %.0f us, p99 %.0f us\n",
        rate / 1e6, best.rate / 1e6,
        100.0 * static_cast<double>(best.lost) / static_cast<double>(best.emitted),
        100.0 * static_cast<double>(best.not_recorded) / static_cast<double>(best.emitted),
        best.late_us.p50, best.late_us.p99);
    if (best.without_loss) most = std::max(most, best.rate);
    if (!best.without_loss || best.rate < kReached * rate) break;
  }
  std::printf("%-54s %.2f M events/s\n", "hub, reader and recording, without loss", most / 1e6);
}

void calls() {
  // With two processors that poll, none is left for a reader. If one is needed, both ends share the
  // first.
  constexpr service::echo::Request kNull{Proc::kNull, 0, 0, 0, 0};
  compare_tracing({"NULL, polling, a processor each", kNull, fabric::kNever, 1, 1, 3000}, false);
  compare_tracing({"NULL, sleeping", kNull, 0, 1, 0, 1500}, true);
  compare_tracing(
      {"ECHO_BULK of 4 KiB, 16 in flight", {Proc::kEchoBulk, 4096, 0, 1, 0}, 0, 16, 0, 1500}, true);
}

void highest() {
  constexpr service::echo::Request kNull{Proc::kNull, 0, 0, 0, 0};
  compare_tracing({"NULL, 64 in flight: the maximum rate of events", kNull, 0, 64, 0, 12'000},
                  true);
  compare_tracing({"NULL, 64 in flight on 8 connections, of which readers get one", kNull, 0, 8, 0,
                   12'000, 8, 8},
                  true);
}

struct Part {
  std::string_view name;
  void (*run)();
};
constexpr Part kParts[] = {
    {"hooks", hooks}, {"calls", calls}, {"highest", highest}, {"stream", stream}};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> chosen(argv + 1, argv + argc);
  for (const std::string_view name : chosen) {
    if (std::none_of(std::begin(kParts), std::end(kParts),
                     [name](const Part& part) { return part.name == name; })) {
      die("no part " + std::string(name));
    }
  }
  for (const Part& part : kParts) {
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), part.name) == chosen.end()) {
      continue;
    }
    std::printf("== %s\n", part.name.data());
    part.run();
  }
}
