#include "load/page_charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/report/html_page.h>

namespace rpcrdma::cli {

namespace {

using load_ranks::Results;
using load_ranks::Row;
using load_ranks::Series;
using load_ranks::Whole;

// The most lines that a reader can distinguish in one picture.
constexpr std::size_t kMostLines = 6;

double in_seconds(fabric::Time time) {
  return static_cast<double>(time) / 1e9;
}

fabric::Time start_of(const Results& results, std::uint32_t round) {
  for (const auto& r : results.rounds) {
    if (r.round == round) return r.start;
  }
  return 0;
}

// A step for each window, and zero after the last.
plot::Series steps(std::string name, const Series& series, fabric::Time start, double until,
                   std::uint64_t load_ranks::Window::*what) {
  plot::Series line;
  line.name = std::move(name);
  line.style = plot::Style::kStep;
  const double width = in_seconds(series.width());
  const auto& windows = series.windows();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const double begin = in_seconds(start) + width * static_cast<double>(i);
    // The last window of a load is not whole.
    const double length = std::min(width, std::max(until - width * static_cast<double>(i), 0.0));
    if (length < width / 20) break;
    line.points.push_back({begin, static_cast<double>(windows[i].*what) / length, {}});
  }
  if (line.points.empty()) return line;
  line.points.push_back({in_seconds(start) + until, line.points.back().y, {}});
  return line;
}

// The rows with the least of the whole load first, by their worst second.
std::vector<std::size_t> worst_first(const Results& results, const Whole& whole) {
  std::vector<std::size_t> order(results.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    return std::pair(results.rows[i].state == load_ranks::State::kDone,
                     whole.worst[i] ? whole.worst[i]->of_average : 1.0);
  };
  std::ranges::stable_sort(order, {}, key);
  return order;
}

plot::Chart of_ranks(const Results& results, const Whole& whole) {
  plot::Chart chart;
  chart.y_unit = plot::Unit::kPerSecond;
  std::vector<std::size_t> order = worst_first(results, whole);
  const bool all = order.size() <= kMostLines;
  chart.title =
      all ? "Calls per second of each rank"
          : fmt::format("Calls per second of the {} ranks with the worst seconds", kMostLines);
  chart.description = "One line for each rank, over the time since the start.";
  if (!all) order.resize(kMostLines);
  std::ranges::sort(order);
  for (const std::size_t i : order) {
    const Row& row = results.rows[i];
    const double until =
        in_seconds(row.state >= load_ranks::State::kDead ? row.last_heard : row.skew + row.elapsed);
    chart.series.push_back(steps(load_ranks::row_name(row, whole.rounds.size() > 1), row.series,
                                 start_of(results, row.round), until, &load_ranks::Window::calls));
  }
  return chart;
}

double end_of(const Whole& whole) {
  double end = 0;
  for (const auto& r : whole.rounds) end = std::max(end, in_seconds(r.start + r.elapsed));
  return end;
}

plot::Chart latency_over_time(const Results& results, double end) {
  plot::Chart chart;
  chart.title = "Latency over time";
  chart.description = "Percentiles of the Calls that ended in each window.";
  chart.y_unit = plot::Unit::kSeconds;
  chart.y_log = true;
  const auto& windows = results.latency_over_time.windows();
  const double width = in_seconds(results.latency_over_time.width());
  for (const auto& [name, q] : {std::pair("p50", 0.5), std::pair("p99", 0.99),
                                std::pair("p99.9", 0.999), std::pair("max", 1.0)}) {
    plot::Series line;
    line.name = name;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const base::Histogram h = windows[i].expanded();
      const double begin = width * static_cast<double>(i);
      // The last window may have a few late Calls only.
      if (begin > end - width / 20) break;
      const double x = (begin + std::min(begin + width, end)) / 2;
      if (h.count() == 0) {
        line.points.push_back({x, std::nan(""), {}});
        continue;
      }
      line.points.push_back({x, in_seconds(q < 1 ? h.quantile(q) : h.max()), {}});
    }
    chart.series.push_back(std::move(line));
  }
  return chart;
}

// x: the number of nines, so that the tail has room.
plot::Chart percentile_curve(const Results& results) {
  plot::Chart chart;
  chart.title = "Latency by percentile: 1 is 90 %, 2 is 99 %, 3 is 99.9 % of the Calls";
  chart.description = "Of the fastest Calls, as far as there are enough for a percentile.";
  chart.x_unit = plot::Unit::kCount;
  chart.y_unit = plot::Unit::kSeconds;
  chart.y_log = true;
  plot::Series line;
  line.name = "all Calls";
  const load::HdrHistogram& h = results.latency;
  if (h.count() < 10) return chart;
  const double nines = std::min(std::log10(static_cast<double>(h.count())), 8.0);
  constexpr int kPoints = 120;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = nines * i / kPoints;
    const double q = 1 - std::pow(10, -x);
    const auto ns = static_cast<std::int64_t>(h.quantile(q));
    line.points.push_back({x, in_seconds(ns),
                           fmt::format("{:.{}f} %: {}", 100 * q, std::max(1, static_cast<int>(x)),
                                       base::format_duration(ns))});
  }
  chart.series.push_back(std::move(line));
  return chart;
}

plot::Histogram distribution(const Results& results) {
  plot::Histogram picture;
  picture.title = "Distribution of latency";
  picture.description = "Calls with a correct answer by their latency.";
  results.tally.latency().for_each_bucket([&](base::Histogram::Bucket b) {
    picture.buckets.push_back({static_cast<double>(base::Histogram::lowest_of(b.index)) / 1e9,
                               static_cast<double>(base::Histogram::lowest_of(b.index + 1)) / 1e9,
                               b.count});
  });
  return picture;
}

}  // namespace

std::string charts_over_time(const Results& results, const Whole& whole) {
  const double end = end_of(whole);
  report::html::Stack stack("time");
  const auto of_all = [&](const char* title, plot::Unit unit,
                          std::uint64_t load_ranks::Window::*what) {
    plot::Chart chart;
    chart.title = title;
    chart.description = "Over the time since the start.";
    chart.y_unit = unit;
    chart.series.push_back(steps("", whole.series, 0, end, what));
    chart.series.back().style = plot::Style::kArea;
    return chart;
  };
  const bool several = results.rows.size() > 1;
  std::vector<plot::Chart> charts;
  charts.push_back(of_all(several ? "Calls per second of all together" : "Calls per second",
                          plot::Unit::kPerSecond, &load_ranks::Window::calls));
  if (several) charts.push_back(of_ranks(results, whole));
  charts.push_back(
      of_all("Data per second", plot::Unit::kBytesPerSecond, &load_ranks::Window::bytes));
  charts.push_back(latency_over_time(results, end));
  const bool failed =
      std::ranges::any_of(whole.series.windows(), [](const auto& w) { return w.errors != 0; });
  if (failed) {
    charts.push_back(
        of_all("Failed Calls per second", plot::Unit::kPerSecond, &load_ranks::Window::errors));
  }
  for (plot::Chart& chart : charts) {
    chart.window = plot::Window{0, std::max(end, 1e-3)};
    stack.add(chart);
  }
  if (stack.empty()) return {};
  return report::html::section("time", "Over time", stack.take());
}

std::string charts_of_latency(const Results& results) {
  report::html::Figures figures("latency");
  figures.add(percentile_curve(results), 260);
  figures.add(distribution(results), 260);
  if (figures.empty()) return {};
  return report::html::section("latency", "Latency", figures.take());
}

}  // namespace rpcrdma::cli
