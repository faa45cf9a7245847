// Agents of a simulated fleet: each makes the summaries of a host with busy endpoints, as its agent
// would, without any endpoint.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::fleet {

struct SimulatedLoad {
  std::size_t endpoints = 2;
  std::uint64_t connections = 8;          // of each endpoint
  std::uint64_t calls_per_second = 5000;  // of each endpoint
  std::size_t samples = 400;              // latencies drawn per second, each for equally many Calls
};

class SimulatedAgent {
 public:
  SimulatedAgent(std::size_t number, const SimulatedLoad& load)
      : load_(load), random_(static_cast<std::mt19937::result_type>(number + 1)) {
    s_.host = fmt::format("node{:04}", number);
    s_.boot = fmt::format("boot-{}", number);
    s_.instance = fmt::format("instance-{}", number);
    s_.version = "simulated";
    s_.process = static_cast<std::uint32_t>(1000 + number);
    for (std::size_t i = 0; i < load.endpoints; ++i) {
      EndpointSummary e;
      e.name = i == 0 ? "nfsd" : fmt::format("client{}", i);
      e.role = i == 0 ? "server on 10.0.0.1" : "client of 10.0.0.1";
      e.user = "root";
      e.process = static_cast<std::uint32_t>(2000 + i);
      e.generation = i + 1;
      e.connections = load.connections;
      s_.endpoints.push_back(std::move(e));
    }
  }

  // The summary of the next second, which ends at `monotonic_ns`.
  const Summary& next(std::int64_t monotonic_ns, std::int64_t wall_ns) {
    for (EndpointSummary& e : s_.endpoints) work(e);
    ++s_.sequence;
    s_.interval_ns = s_.sequence == 1 ? 0 : monotonic_ns - s_.monotonic_ns;
    s_.monotonic_ns = monotonic_ns;
    s_.wall_ns = wall_ns;
    return s_;
  }
  [[nodiscard]] const Summary& latest() const { return s_; }

 private:
  void work(EndpointSummary& e) {
    e.counters.calls += load_.calls_per_second;
    e.counters.replies += load_.calls_per_second;
    e.counters.chunk_bytes[1] += load_.calls_per_second * 65'536;
    e.credits = {128 * load_.connections, 64 * load_.connections, random_() % 64, 0};
    e.events += load_.calls_per_second * 6;
    // Typical of NFS: a mode at tens of microseconds, and a tail of disk accesses.
    std::lognormal_distribution<double> fast(std::log(40e3), 0.35), slow(std::log(3e6), 0.6);
    for (std::size_t i = 0; i < load_.samples; ++i) {
      e.latency.add(
          static_cast<std::int64_t>(random_() % 100 < 97 ? fast(random_) : slow(random_)));
    }
  }

  SimulatedLoad load_;
  std::mt19937 random_;
  Summary s_;
};

}  // namespace rpcrdma::fleet
