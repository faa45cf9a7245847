// What a source that counts in the kernel, without messages, says about its connections: sums of
// procedures and connections instead of Calls.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <rpcrdma/top/shown.h>
#include <rpcrdma/trace_reader/event.h>
#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::top {

class Counts {
 public:
  // Takes events of all types. Connections are known by roce::Connection::index.
  void take(const trace_reader::Event& event);
  void forget(std::uint32_t connection) { sums_.forget(connection); }

  // Whether sums of this connection have come.
  [[nodiscard]] bool has(std::uint32_t connection) const;
  [[nodiscard]] bool empty() const { return sums_.empty(); }
  // Since the kernel is traced.
  [[nodiscard]] Totals totals(std::uint32_t connection) const;
  // `now_ns`: of the source's clock, as below.
  [[nodiscard]] Rates rates(std::uint32_t connection, std::int64_t now_ns) const;
  [[nodiscard]] Latency latency(std::uint32_t connection, std::int64_t now_ns) const;
  [[nodiscard]] Latency latency_of_all(std::int64_t now_ns) const;
  // Latencies since the kernel is traced: of one connection, and of all.
  [[nodiscard]] trace_reader::SumLatencies all_latencies(std::uint32_t connection) const;
  [[nodiscard]] trace_reader::SumLatencies all_latencies() const;
  [[nodiscard]] ShownCounts shown(std::uint32_t connection, std::int64_t now_ns) const;

 private:
  using Visit =
      std::function<void(const trace_reader::ProcedureKey&, const trace_reader::CountedProcedure&)>;
  void each_procedure(std::uint32_t connection, const Visit& visit) const;

  trace_reader::Sums sums_;
};

}  // namespace rpcrdma::top
