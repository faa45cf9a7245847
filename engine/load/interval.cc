#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load/interval.h>
#include <rpcrdma/load/report.h>

namespace rpcrdma::load {

namespace {

double rate_of(std::uint64_t n, const IntervalTime& time) {
  return time.length <= 0 ? 0 : static_cast<double>(n) * 1e9 / static_cast<double>(time.length);
}

}  // namespace

void Interval::merge(const Interval& other) {
  calls += other.calls;
  errors += other.errors;
  bytes += other.bytes;
  latency.merge(other.latency);
  credits += other.credits;
  connections += other.connections;
}

std::string interval_json(const Interval& i, const IntervalTime& time) {
  using Json = nlohmann::ordered_json;
  const auto us = [&](std::uint64_t ns) {
    return i.latency.count() == 0 ? Json() : Json(static_cast<double>(ns) / 1e3);
  };
  return Json{{"time", static_cast<double>(time.epoch / fabric::kMillisecond) / 1e3},
              {"elapsed", static_cast<double>(time.elapsed) / 1e9},
              {"seconds", static_cast<double>(time.length) / 1e9},
              {"calls", i.calls},
              {"errors", i.errors},
              {"calls_per_second", rate_of(i.calls, time)},
              {"bytes", i.bytes},
              {"bytes_per_second", rate_of(i.bytes, time)},
              {"latency_us",
               {{"p50", us(i.latency.quantile(0.5))},
                {"p95", us(i.latency.quantile(0.95))},
                {"p99", us(i.latency.quantile(0.99))},
                {"max", us(i.latency.max())}}},
              {"credits", i.credits},
              {"connections", i.connections}}
      .dump();
}

std::string interval_line(const Interval& i, const IntervalTime& time) {
  std::string line = fmt::format(
      "{:.1f} s: {} calls/s, {}, {} failed", static_cast<double>(time.elapsed) / 1e9,
      format_call_rate(rate_of(i.calls, time)), format_byte_rate(rate_of(i.bytes, time)), i.errors);
  if (i.latency.count() == 0) return line;
  const auto text = [](std::uint64_t ns) {
    return base::format_duration(static_cast<std::int64_t>(ns));
  };
  return line + fmt::format(", p50 {}, p99 {}, max {}", text(i.latency.quantile(0.5)),
                            text(i.latency.quantile(0.99)), text(i.latency.max()));
}

}  // namespace rpcrdma::load
