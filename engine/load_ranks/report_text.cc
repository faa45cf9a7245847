// The report of the whole for a terminal.
#include "setup.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::load_ranks {

namespace {

using base::format_duration;
using load::format_byte_rate;
using load::format_call_rate;

constexpr std::size_t kMostNamed = 16;  // ranks of one kind, in lines of their own
constexpr std::size_t kMostHost = 24;   // columns

std::string seconds(fabric::Time time) {
  return fmt::format("{:.0f} s", static_cast<double>(time) / 1e9);
}

void add_missing(std::string& out, const Whole& whole) {
  if (whole.missing.empty()) return;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "INCOMPLETE: {} of {} did not finish\n", whole.missing.size(),
                 count_text(rows_of(whole), "rank", "ranks"));
  const bool rounds = whole.rounds.size() > 1;
  for (std::size_t i = 0; i < whole.missing.size() && i < kMostNamed; ++i) {
    const Row& row = *whole.missing[i];
    fmt::format_to(to, "  {} {}\n", row_name(row, rounds), missing_text(row));
    if (row.state == State::kFailed) continue;
    fmt::format_to(to, "    {}\n",
                   row.calls == 0 ? "what it did is not known; the totals do not have it"
                                  : fmt::format("the totals have its {} until then; later ones are "
                                                "not known",
                                                count_text(row.calls, "Call", "Calls")));
  }
  if (whole.missing.size() > kMostNamed) {
    fmt::format_to(to, "  and {} more\n", whole.missing.size() - kMostNamed);
  }
  out += '\n';
}

void add_rounds(std::string& out, const Whole& whole) {
  if (whole.rounds.size() < 2) return;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:>5}{:>9}{:>7}{:>12}{:>12}\n", "round", "start", "ranks", "calls/s",
                 "data");
  for (const RoundSum& r : whole.rounds) {
    const double time = std::max(static_cast<double>(r.elapsed) / 1e9, 1e-9);
    fmt::format_to(to, "{:>5}{:>9}{:>7}{:>12}{:>12}\n", r.round, seconds(r.start), r.rows,
                   format_call_rate(static_cast<double>(r.right) / time),
                   format_byte_rate(static_cast<double>(r.bytes) / time));
  }
}

std::string servers_text(const Row& row) {
  if (row.servers.empty()) return "-";
  if (row.servers.size() == 1) return row.servers.front();
  return fmt::format("{} servers", row.servers.size());
}

void add_rows(std::string& out, const Results& results, const Whole& whole) {
  const auto to = std::back_inserter(out);
  const bool rounds = whole.rounds.size() > 1;
  std::size_t host = 4, server = 6;
  for (const Row& row : results.rows) {
    host = std::max(host, std::min(row.host.size(), kMostHost));
    server = std::max(server, servers_text(row).size());
  }
  fmt::format_to(to, "\n{:>4} {:<{}}{} {:<{}} {:<6}{:>10}{:>12}{:>9}{:>9}{:>9}{:>8}{:>15}\n",
                 "rank", "host", host, rounds ? " round" : "", "server", server, "state", "calls/s",
                 "data", "p50", "p99", "max", "errors", "worst second");
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const Row& row = results.rows[i];
    const base::Histogram latency = row.latency.expanded();
    const auto cell = [&](std::int64_t ns) {
      return latency.count() == 0 ? std::string("-") : format_duration(ns);
    };
    const double time = std::max(static_cast<double>(row.elapsed) / 1e9, 1e-9);
    const auto& worst = whole.worst[i];
    fmt::format_to(to, "{:>4} {:<{}}{} {:<{}} {:<6}{:>10}{:>12}{:>9}{:>9}{:>9}{:>8}{:>15}\n",
                   row.rank, row.host.substr(0, kMostHost), host,
                   rounds ? fmt::format("{:>6}", row.round) : std::string(), servers_text(row),
                   server, state_name(row.state), format_call_rate(rate_of(row)),
                   format_byte_rate(static_cast<double>(row.bytes) / time),
                   cell(latency.quantile(0.5)), cell(latency.quantile(0.99)), cell(latency.max()),
                   row.errors + row.mismatches,
                   worst ? fmt::format("{} at {}", format_call_rate(worst->calls_per_second),
                                       seconds(worst->begin))
                         : std::string("-"));
  }
}

void add_worst(std::string& out, const char* what, const Results& results, const Whole& whole,
               const std::optional<WorstWindow>& worst) {
  if (!worst) return;
  const auto row = std::ranges::find_if(
      results.rows, [&](const Row& r) { return r.rank == worst->rank && r.round == worst->round; });
  fmt::format_to(std::back_inserter(out), "{}: {}: {} calls/s, {:.0f} % of its average, {} to {}\n",
                 what, row_name(*row, whole.rounds.size() > 1),
                 format_call_rate(worst->calls_per_second), 100 * worst->of_average,
                 seconds(worst->begin), seconds(worst->begin + worst->length));
}

}  // namespace

std::string count_text(std::uint64_t n, const char* one, const char* several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

std::size_t rows_of(const Whole& whole) {
  std::size_t rows = 0;
  for (const RoundSum& round : whole.rounds) rows += round.rows;
  return rows;
}

std::string to_text(const WholeSetup& setup, const Results& results, const Whole& whole) {
  std::string out;
  const auto to = std::back_inserter(out);
  add_missing(out, whole);
  out += load::to_text(setup_of_all(setup, results), whole.result);
  if (histogram_full(results)) {
    out +=
        "more than 4 billion Calls have about the same latency: its quantiles are those of "
        "fewer; --hgrm has all\n";
  }
  add_rounds(out, whole);
  add_rows(out, results, whole);
  out += '\n';
  const bool rounds = whole.rounds.size() > 1;
  if (whole.slowest != nullptr) {
    fmt::format_to(to, "slowest: {}: {} calls/s", row_name(*whole.slowest, rounds),
                   format_call_rate(rate_of(*whole.slowest)));
    if (whole.slowest_of_median) {
      fmt::format_to(to, ", {:.0f} % of the median", 100 * *whole.slowest_of_median);
    }
    out += '\n';
  }
  if (whole.fairness) {
    fmt::format_to(to, "fairness: {:.4f} (Jain's index of calls/s over {}; 1 is equal)\n",
                   *whole.fairness,
                   count_text(whole.fair_ranks, "complete rank", "complete ranks"));
  }
  const char* const second =
      whole.second && whole.second->length > fabric::kSecond ? "worst window" : "worst second";
  add_worst(out, second, results, whole, whole.second);
  add_worst(out, "worst 5 seconds", results, whole, whole.five);
  if (whole.all_second && results.rows.size() > 1) {
    fmt::format_to(to, "{} of all together: {} calls/s, {} to {}\n", second,
                   format_call_rate(whole.all_second->calls_per_second),
                   seconds(whole.all_second->begin),
                   seconds(whole.all_second->begin + whole.all_second->length));
  }
  if (setup.started && results.rows.size() > 1) {
    fmt::format_to(to, "start skew: at most {}\n", format_duration(whole.skew));
  }
  return out;
}

}  // namespace rpcrdma::load_ranks
