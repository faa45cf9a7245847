// The report of the whole as JSON: the keys of a single load, and those of ranks.
#include "setup.h"

#include <nlohmann/json.hpp>

#include <rpcrdma/load/latency_json.h>
#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::load_ranks {

namespace {

using Json = nlohmann::ordered_json;
using fabric::Time;

double in_seconds(Time time) {
  return static_cast<double>(time) / 1e9;
}
double in_us(Time time) {
  return static_cast<double>(time) / 1e3;
}
double per_second(std::uint64_t n, Time time) {
  return time <= 0 ? 0 : static_cast<double>(n) * 1e9 / static_cast<double>(time);
}
template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json worst_json(const std::optional<WorstWindow>& w, bool of_rank) {
  if (!w) return {};
  Json json = Json::object();
  if (of_rank) {
    json["rank"] = w->rank;
    json["round"] = w->round;
    json["of_average"] = w->of_average;
  }
  json["begin"] = in_seconds(w->begin);
  json["seconds"] = in_seconds(w->length);
  json["calls"] = w->calls;
  json["errors"] = w->errors;
  json["calls_per_second"] = w->calls_per_second;
  json["bytes_per_second"] = w->bytes_per_second;
  return json;
}

Json series_of_rank(const Series& series) {
  Json windows = Json::array();
  for (const Window& w : series.windows()) {
    windows.push_back(
        Json::array({w.calls, w.errors, w.bytes, in_us(static_cast<Time>(w.max_ns))}));
  }
  return {{"seconds", in_seconds(series.width())}, {"windows", windows}};
}

Json row_json(const Row& row, const std::optional<WorstWindow>& worst) {
  const bool partial = row.state >= State::kDead;
  const Json offset = row.offset ? Json(in_us(row.offset->offset)) : Json();
  const Json error = row.offset ? Json(in_us(row.offset->error)) : Json();
  return {{"rank", row.rank},
          {"round", row.round},
          {"host", row.host},
          {"from", row.from},
          {"servers", row.servers},
          {"state", state_name(row.state)},
          {"why", row.why.empty() ? Json() : Json(row.why)},
          {"last_heard", partial ? Json(in_seconds(row.last_heard)) : Json()},
          {"clock_offset_us", offset},
          {"clock_error_us", error},
          {"start_skew_us", partial ? Json() : Json(in_us(row.skew))},
          {"calls", row.calls},
          {"errors", row.errors},
          {"mismatches", row.mismatches},
          {"not_begun", row.not_begun},
          {"abandoned", row.abandoned},
          {"connections_lost", row.lost},
          {"connections_down", row.down},
          {"sent_again", row.resent},
          {"credit_stalls", row.stalls},
          {"interrupted", row.interrupted},
          {"seconds", in_seconds(row.elapsed)},
          {"calls_per_second", rate_of(row)},
          {"bytes", row.bytes},
          {"bytes_per_second", per_second(row.bytes, row.elapsed)},
          {"latency_us", load::latency_json(row.latency.expanded())},
          {"worst_second", worst_json(worst, false)},
          {"over_time", series_of_rank(row.series)},
          {"failed", row.failed}};
}

Json series_json(const Results& results, const Whole& whole) {
  // Both series in the same windows.
  Series series = whole.series;
  LatencySeries latency = results.latency_over_time;
  series.widen(latency.shift());
  latency.widen(series.shift());
  const Time width = series.width();
  Json windows = Json::array();
  for (std::size_t i = 0; i < series.windows().size(); ++i) {
    const Window& w = series.windows()[i];
    const base::Histogram h =
        i < latency.windows().size() ? latency.windows()[i].expanded() : base::Histogram();
    const auto us = [&](std::int64_t ns) { return h.count() == 0 ? Json() : Json(in_us(ns)); };
    windows.push_back({{"begin", in_seconds(static_cast<Time>(i) * width)},
                       {"calls", w.calls},
                       {"errors", w.errors},
                       {"calls_per_second", per_second(w.calls, width)},
                       {"bytes", w.bytes},
                       {"bytes_per_second", per_second(w.bytes, width)},
                       {"latency_us",
                        {{"p50", us(h.quantile(0.5))},
                         {"p95", us(h.quantile(0.95))},
                         {"p99", us(h.quantile(0.99))},
                         {"max", us(h.max())}}}});
  }
  return {{"seconds", in_seconds(width)}, {"windows", windows}};
}

}  // namespace

std::string to_json(const WholeSetup& setup, const Results& results, const Whole& whole) {
  Json report = Json::parse(load::to_json(setup_of_all(setup, results), whole.result));
  report["pattern"] = setup.pattern ? Json(pattern_name(*setup.pattern)) : Json();
  report["start"] = setup.epoch == 0 ? Json() : Json(in_seconds(setup.epoch));
  report["ranks_started"] = setup.ranks;
  report["hosts"] = hosts_of(results);
  report["complete"] = whole.missing.empty();
  report["start_skew_us"] = setup.started ? Json(in_us(whole.skew)) : Json();
  report["histogram_full"] = histogram_full(results);
  Json missing = Json::array();
  for (const Row* const row : whole.missing) {
    missing.push_back({{"rank", row->rank},
                       {"round", row->round},
                       {"host", row->host},
                       {"state", state_name(row->state)},
                       {"text", missing_text(*row)}});
  }
  report["missing"] = missing;
  report["slowest"] = whole.slowest == nullptr
                          ? Json()
                          : Json{{"rank", whole.slowest->rank},
                                 {"round", whole.slowest->round},
                                 {"host", whole.slowest->host},
                                 {"calls_per_second", rate_of(*whole.slowest)},
                                 {"of_median", or_null(whole.slowest_of_median)}};
  report["fairness"] = or_null(whole.fairness);
  report["worst_second"] = worst_json(whole.second, true);
  report["worst_5_seconds"] = worst_json(whole.five, true);
  report["worst_second_of_all"] = worst_json(whole.all_second, false);
  Json rounds = Json::array();
  for (const RoundSum& r : whole.rounds) {
    rounds.push_back({{"round", r.round},
                      {"begin", in_seconds(r.start)},
                      {"seconds", in_seconds(r.elapsed)},
                      {"ranks", r.rows},
                      {"calls_per_second", per_second(r.right, r.elapsed)},
                      {"bytes_per_second", per_second(r.bytes, r.elapsed)}});
  }
  report["rounds"] = rounds;
  Json ranks = Json::array();
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    ranks.push_back(row_json(results.rows[i], whole.worst[i]));
  }
  report["ranks"] = ranks;
  report["series"] = series_json(results, whole);
  report["problems"] = complaints(results, whole);
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rpcrdma::load_ranks
