// Figures for metrics, from the sums of a kernel source. The thread that reads the source adds its
// events; any thread takes copies.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <rpcrdma/metrics/snapshot.h>
#include <rpcrdma/trace/event.h>

namespace rpcrdma::kernel_endpoint {

class Figures {
 public:
  // Takes events of all types.
  void take(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
            std::span<const std::uint8_t> payload);

  // Counters never become smaller: those of closed connections stay in the sums.
  [[nodiscard]] metrics::KernelFigures figures() const;

 private:
  // Beyond these, events are ignored.
  static constexpr std::size_t kMostConnections = std::size_t{1} << 16;
  static constexpr std::size_t kMostProcedures = 256;  // of a connection

  // Side, program, version, procedure.
  using Key = std::array<std::uint32_t, 4>;
  struct Procedure {
    trace::ProcedureSums sums;
    std::vector<trace::SumBucket> latencies;
  };
  struct Connection {
    bool is_client = false;
    trace::Credits credits;
    trace::ConnectionSums sums;
    std::map<Key, Procedure> procedures;
  };
  // Procedures by role (server), program and name.
  using ByName = std::map<std::tuple<bool, std::string, std::string>, metrics::KernelProcedure>;

  static void add(ByName& to, const Procedure& procedure);
  static void add(metrics::KernelRole& to, const trace::ConnectionSums& sums);

  mutable std::mutex mutex_;
  std::map<std::uint32_t, Connection> connections_;
  // Of closed connections.
  ByName procedures_;
  metrics::KernelRole client_, server_;
};

}  // namespace rpcrdma::kernel_endpoint
