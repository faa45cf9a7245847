// A fleet's bus and view with 10 to 1,000 hosts, over a real nats-server: bench_fleet [RUNS].
//
// Time is virtual: the agents' summaries of each second are published as fast as the view takes
// them, so that the processor time of a second is measured without waiting for it.
#include "fleet/simulated_agents.h"
#include "support/nats_server.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/fleet/bus.h>
#include <rpcrdma/fleet/subjects.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::fleet {
namespace {

constexpr std::int64_t kSeconds = 20;  // measured, after kWarmUp
constexpr std::int64_t kWarmUp = 12;   // until the view's window of latencies is full

double thread_seconds() {
  return static_cast<double>(base::clock_ns(CLOCK_THREAD_CPUTIME_ID)) / 1e9;
}

// Processor time of another process, all threads: utime and stime of /proc/PID/stat.
double process_seconds(pid_t process) {
  std::FILE* const file = std::fopen(fmt::format("/proc/{}/stat", process).c_str(), "r");
  if (file == nullptr) return 0;
  unsigned long user = 0, system = 0;
  const int read = std::fscanf(
      file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  std::fclose(file);
  return read == 2
             ? static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK))
             : 0;
}

struct Figures {
  double bytes = 0;      // of a summary, on average
  double server_ms = 0;  // processor time of nats-server per second of virtual time
  double view_ms = 0;    // of the view: decoding, applying, and one state() per second
  double state_ms = 0;   // of it, state()
  std::uint64_t lost = 0;
  bool complete = false;
};

[[noreturn]] void die(const std::string& why) {
  fmt::print(stderr, "bench_fleet: {}\n", why);
  std::exit(2);
}

Figures measure(const std::string& url, pid_t server, std::size_t hosts) {
  BusOptions options;
  options.url = url;
  auto publisher = Bus::connect(options);
  auto subscriber = Bus::connect(options);
  if (!publisher || !subscriber) die("no connection to " + url);
  if (const auto streams = (*publisher)->prepare_streams(); !streams) die(streams.error().message);
  auto subscription = (*subscriber)->subscribe(kAllStates);
  if (!subscription) die(subscription.error().message);
  // The server knows the subscription before the first message.
  if (!(*subscriber)->flush(std::chrono::seconds(20))) die("no answer from nats-server");

  std::vector<SimulatedAgent> agents;
  for (std::size_t i = 0; i < hosts; ++i) agents.emplace_back(i, SimulatedLoad{});
  View view;
  Figures figures;
  double view_s = 0, state_s = 0, server_before = 0;
  std::uint64_t bytes = 0;
  for (std::int64_t second = 0; second < kWarmUp + kSeconds; ++second) {
    if (second == kWarmUp) {
      view_s = state_s = 0;
      bytes = 0;
      server_before = process_seconds(server);
    }
    const ViewTime now{(1000 + second) * base::kSecond, (1'800'000'000 + second) * base::kSecond};
    std::vector<std::string> made;
    for (SimulatedAgent& a : agents) made.push_back(to_json(a.next(now.monotonic_ns, now.wall_ns)));
    for (std::size_t i = 0; i < hosts; ++i) {
      bytes += made[i].size();
      (*publisher)->publish_state(agents[i].latest().host, std::move(made[i]));
    }
    std::size_t taken = 0;
    while (taken < hosts) {
      pollfd readable{(*subscription)->fd(), POLLIN, 0};
      if (::poll(&readable, 1, 20'000) == 0) die("messages do not arrive");
      const double before = thread_seconds();
      if (second == 0 && taken == 0) view.bus(true, {}, now);
      while (const auto message = (*subscription)->take()) {
        view.take(message->subject, message->data, now);
        ++taken;
      }
      view_s += thread_seconds() - before;
    }
    const double before = thread_seconds();
    view.tick(now);
    const FleetState state = view.state();
    const double spent = thread_seconds() - before;
    view_s += spent;
    state_s += spent;
    figures.lost = state.totals.lost;
    figures.complete =
        state.totals.hosts == hosts && state.totals.endpoints == 2 * hosts &&
        (second == 0 ||
         (state.totals.rates.has_value() &&
          std::abs(state.totals.rates->calls - static_cast<double>(hosts) * 10'000) < 1));
    if (!figures.complete) die("the view is not complete");
  }
  figures.server_ms = (process_seconds(server) - server_before) * 1e3 / kSeconds;
  figures.view_ms = view_s * 1e3 / kSeconds;
  figures.state_ms = state_s * 1e3 / kSeconds;
  figures.bytes = static_cast<double>(bytes) / static_cast<double>(kSeconds * hosts);
  return figures;
}

int run(int runs) {
  if (!e2e::NatsServer::installed()) die("nats-server is not installed");
  fmt::print("per second of virtual time; a host has 2 endpoints with 8 connections each\n");
  fmt::print("{:>5} {:>4} {:>10} {:>10} {:>10} {:>14} {:>9} {:>9} {:>6}\n", "hosts", "run",
             "messages/s", "B/message", "MB/s", "nats-server ms", "view ms", "state ms", "lost");
  for (const std::size_t hosts :
       {std::size_t{10}, std::size_t{100}, std::size_t{300}, std::size_t{1000}}) {
    for (int run = 1; run <= runs; ++run) {
      std::string folder = (std::filesystem::temp_directory_path() / "rpcrdma-XXXXXX").string();
      if (::mkdtemp(folder.data()) == nullptr) die("no temporary folder");
      e2e::NatsServer server(folder);
      if (!server.start()) die("nats-server does not start: " + server.log());
      const Figures f = measure(server.url(), server.process(), hosts);
      fmt::print("{:>5} {:>4} {:>10} {:>10.0f} {:>10.2f} {:>14.1f} {:>9.1f} {:>9.1f} {:>6}\n",
                 hosts, run, hosts, f.bytes, f.bytes * static_cast<double>(hosts) / 1e6,
                 f.server_ms, f.view_ms, f.state_ms, f.lost);
      std::fflush(stdout);
      server.stop();
      std::filesystem::remove_all(folder);
    }
  }
  return 0;
}

}  // namespace
}  // namespace rpcrdma::fleet

int main(int argc, char** argv) {
  return rpcrdma::fleet::run(argc > 1 ? std::max(std::atoi(argv[1]), 1) : 3);
}
