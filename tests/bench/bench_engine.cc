// Compares RPC-over-RDMA version 1 over the soft fabric with the layers below it and with other
// implementations, in one run.
//
//   bench_engine [polling|blocking|blocking-one|blocking-two|bulk|outstanding|connections]...
//
// A server's loop and a client's run in a thread each, on two loopback addresses, over real
// sockets. Compared programs run alternately, so that changes in the machine's speed affect all of
// them.
#include "echo_calls.h"
#include "tirpc_null.h"
#include "two_cores.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

namespace {

using namespace rpcrdma;
using bench::Calls;
using bench::die;
using bench::kMiB;
using bench::RunningServer;
using service::echo::Proc;

constexpr std::uint32_t kBulk = 4096;
// Size of a NULL Call as UDP payload: BTH, header, RPC message and ICRC.
constexpr std::size_t kNullBytes = 12 + 28 + 40 + 4;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print_round_trips(const char* what, std::vector<double>& us) {
  const bench::Percentiles p = bench::percentiles(us);
  std::printf("%-46s p50 %8.2f us  p99 %8.2f us\n", what, p.p50, p.p99);
}
double p50(std::vector<double>& us) {
  return bench::percentiles(us).p50;
}

// The machine's speed varies: programs run alternately, and each round is compared by itself.
void null_calls_polling() {
  constexpr int kTurns = 10, kRounds = 20'000;
  std::vector<double> floor, ours, theirs, over_floor, under_theirs;
  for (int i = 0; i < kTurns; ++i) {
    std::vector<double> udp;
    bench::udp_ping_pong(kNullBytes, kRounds, udp);
    const double rxd = bench::fi_pingpong(64, kRounds).round_trip_us;
    const RunningServer server(fabric::kNever, 1);
    bench::pin_to(0);
    Calls calls(fabric::kNever, 1, 1, 0);
    calls.timed = true;
    (void)calls.run({Proc::kNull, 0, 0, 0, 0}, kRounds);
    over_floor.push_back(p50(calls.us) / p50(udp));
    under_theirs.push_back(rxd / p50(calls.us));
    theirs.push_back(rxd);
    floor.insert(floor.end(), udp.begin(), udp.end());
    ours.insert(ours.end(), calls.us.begin(), calls.us.end());
  }
  print_round_trips("NULL Call, polling", ours);
  print_round_trips("floor: bare UDP of equal size, polling", floor);
  std::printf("NULL Call / UDP ping-pong: %.2f times\n", p50(over_floor));
  if (theirs.front() == 0) return;  // not installed
  std::printf("fi_pingpong -p \"udp;ofi_rxd\", 64 bytes there and back: %.2f us, %.2f times ours\n",
              p50(theirs), p50(under_theirs));
}

// One side of a comparison of sleeping Calls: the round trips, and the CPU time of both ends.
struct Sleeping {
  std::vector<double> us;
  double cpu = 0;  // seconds

  template <typename Function>
  void measure(Function&& calls) {
    const double before = cpu_seconds();
    calls();
    cpu += cpu_seconds() - before;
  }
  [[nodiscard]] double cpu_us() const { return cpu * 1e6 / static_cast<double>(us.size()); }
};

void print_sleeping(const std::string& what, Sleeping& s) {
  const bench::Percentiles p = bench::percentiles(s.us);
  std::printf("%-46s p50 %8.2f us  p99 %8.2f us  p99.9 %8.2f us  %6.2f us of processor a Call\n",
              what.c_str(), p.p50, p.p99, p.p999, s.cpu_us());
}

// The kernel runs two threads that wake each other sometimes on one processor and sometimes on two,
// which affects a round trip more than the programs do: so both cases are measured.
void null_calls_blocking(unsigned server_processor) {
  constexpr int kTurns = 10, kRounds = 5'000;
  Sleeping theirs, ours;
  bench::pin_to(0);
  for (int i = 0; i < kTurns; ++i) {
    theirs.measure([&] {
      if (!bench::tirpc_null_calls(kRounds, server_processor, theirs.us)) {
        die("libtirpc made no Call");
      }
    });
    const RunningServer server(0, server_processor);
    Calls calls(0, 1, 1, 0);
    calls.timed = true;
    ours.measure([&] { (void)calls.run({Proc::kNull, 0, 0, 0, 0}, kRounds); });
    ours.us.insert(ours.us.end(), calls.us.begin(), calls.us.end());
  }
  const char* where = server_processor == 0 ? "both on one processor" : "a processor each";
  print_sleeping(fmt::format("NULL Call, sleeping, {}", where), ours);
  print_sleeping(fmt::format("libtirpc's over TCP, {}", where), theirs);
  const bench::Percentiles o = bench::percentiles(ours.us), t = bench::percentiles(theirs.us);
  std::printf(
      "NULL Call / libtirpc's, %s: p50 %.2f times, p99 %.2f times, p99.9 %.2f times, processor a "
      "Call %.2f times\n",
      where, o.p50 / t.p50, o.p99 / t.p99, o.p999 / t.p999, ours.cpu_us() / theirs.cpu_us());
}
void null_calls_on_one() {
  null_calls_blocking(0);
  bench::pin_to_all();
}
void null_calls_on_two() {
  null_calls_blocking(1);
  bench::pin_to_all();
}

void bulk() {
  constexpr int kTurns = 3, kCount = 4'000;
  double source = 0, sink = 0;
  for (int i = 0; i < kTurns; ++i) {
    const RunningServer server(fabric::kNever, 1);
    bench::pin_to(0);
    Calls calls(fabric::kNever, 1, 8, kMiB);
    source = std::max(source, kMiB * calls.run({Proc::kSource, kMiB, 0, 1, 0}, kCount));
    sink = std::max(sink, kMiB * calls.run({Proc::kSink, kMiB, 0, 1, 0}, kCount));
  }
  const double tcp = bench::qperf_tcp();
  std::printf("SOURCE of 1 MiB: %.2f GB/s\nSINK of 1 MiB:   %.2f GB/s\n", source / 1e9, sink / 1e9);
  if (tcp != 0) {
    std::printf("qperf tcp_bw, 1 MiB: %.2f GB/s: SOURCE %.2f times, SINK %.2f times\n", tcp / 1e9,
                source / tcp, sink / tcp);
  }
}

void many_outstanding() {
  constexpr std::uint64_t kCount = 200'000;
  const RunningServer server(0, std::nullopt);
  bench::pin_to_all();
  Calls calls(0, 1, 64, kBulk);
  (void)calls.run({Proc::kEchoBulk, kBulk, 0, 1, 0}, kCount / 10);
  const double cpu = cpu_seconds();
  const double rate = calls.run({Proc::kEchoBulk, kBulk, 0, 1, 0}, kCount);
  std::printf(
      "64 ECHO_BULK of 4 KiB in flight: %.0f Calls/s, %.2f us of processor a Call, both ends\n",
      rate, (cpu_seconds() - cpu) / static_cast<double>(kCount) * 1e6);
}

// 1,000 connections compared with 16: with a Call each, with as many Calls in total, which need
// fewer packets, and both with 62,000 Calls outstanding. Of 3,875 Calls of a connection, the
// credits let 64 be in flight, and the others wait.
void many_connections() {
  constexpr std::uint64_t kCount = 200'000;
  constexpr struct {
    std::uint32_t connections, depth;
  } kCases[] = {{16, 1}, {16, 62}, {1000, 1}, {16, 3875}, {1000, 62}};
  double rate[std::size(kCases)] = {};
  std::uint64_t retransmitted = 0;
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const auto& c = kCases[i];
    RunningServer server(0, std::nullopt);
    std::optional<Calls> calls(std::in_place, 0, c.connections, c.depth, 1024);
    // Warm up until each Receive of each connection was used once.
    (void)calls->run({Proc::kEcho, 512, 0, 1, 0}, 70ULL * 1000);
    const double cpu = cpu_seconds();
    rate[i] = calls->run({Proc::kEcho, 512, 0, 1, 0}, kCount);
    const double cpu_us = (cpu_seconds() - cpu) / static_cast<double>(kCount) * 1e6;
    std::uint64_t again = calls->retransmitted();
    calls.reset();
    again += server.stop();
    retransmitted += again;
    std::printf(
        "ECHO of 512 bytes, %4u outstanding on each of %4u connections: %.0f Calls/s, %.2f us of "
        "processor a Call, %llu packets retransmitted\n",
        c.depth, c.connections, rate[i], cpu_us, static_cast<unsigned long long>(again));
  }
  std::printf("1000 connections / 16: %.2f times; / 16 with as many Calls in flight: %.2f times\n",
              rate[2] / rate[0], rate[2] / rate[1]);
  std::printf(
      "1000 connections with 62,000 Calls / 16 with as many: %.2f times; %llu packets "
      "retransmitted in all\n",
      rate[4] / rate[3], static_cast<unsigned long long>(retransmitted));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr struct {
    std::string_view name;
    void (*run)();
  } kParts[] = {{"polling", null_calls_polling},     {"blocking-one", null_calls_on_one},
                {"blocking-two", null_calls_on_two}, {"bulk", bulk},
                {"outstanding", many_outstanding},   {"connections", many_connections}};
  const std::vector<std::string_view> asked(argv + 1, argv + argc);
  for (const auto& part : kParts) {
    const auto names_it = [&](std::string_view a) { return part.name.starts_with(a); };
    if (!asked.empty() && std::ranges::none_of(asked, names_it)) continue;
    part.run();
    std::fflush(stdout);
  }
  return 0;
}
