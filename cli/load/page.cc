// The page of a load: what it came to, what failed, and the tables. Pictures are in page_charts.cc.
#include "load/page.h"

#include "load/page_charts.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/html_page.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::cli {

namespace {

using base::format_duration;
using load_ranks::Results;
using load_ranks::Row;
using load_ranks::State;
using load_ranks::Whole;
using load_ranks::WholeSetup;
using load_ranks::WorstWindow;
using report::html::Table;
using Align = Table::Align;

constexpr std::size_t kMostRanksInTable = 1000;
constexpr std::size_t kMostProblems = 50;
constexpr std::size_t kToSeconds = 19;  // of a time: without its fraction

double seconds(fabric::Time time) {
  return static_cast<double>(time) / 1e9;
}

std::string calls_rate(double per_second) {
  return load::format_call_rate(per_second) + " calls/s";
}

std::string counted(std::uint64_t n, const char* one, const char* several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

class Facts {
 public:
  void add(const char* name, const std::string& value) {
    out_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, report::html::text(value));
  }
  [[nodiscard]] std::string take() const { return "<dl class=\"facts\">\n" + out_ + "</dl>\n"; }

 private:
  std::string out_;
};

std::string verdict(const Results& results, const Whole& whole,
                    const std::vector<std::string>& problems) {
  const load::Result& r = whole.result;
  std::string sentence;
  const char* kind = problems.empty() ? "good" : "error";
  if (!whole.missing.empty()) {
    sentence = fmt::format("<b>Incomplete.</b> {} of {} did not finish.", whole.missing.size(),
                           counted(results.rows.size(), "rank", "ranks"));
  } else if (!problems.empty()) {
    sentence = fmt::format("<b>Failed.</b> {}", report::html::text(problems.front()));
  } else {
    sentence = fmt::format("<b>Passed.</b> {} answered, all correct.",
                           counted(r.tally.right(), "Call was", "Calls were"));
  }
  return fmt::format("<p class=\"verdict {}\">{}</p>\n", kind, sentence);
}

std::string facts(const WholeSetup& setup, const Results& results, const Whole& whole) {
  const load::Result& r = whole.result;
  const double time = std::max(seconds(r.elapsed), 1e-9);
  Facts facts;
  facts.add("Rate", calls_rate(static_cast<double>(r.tally.right()) / time));
  facts.add("Data", load::format_byte_rate(static_cast<double>(r.tally.bytes()) / time));
  const base::Histogram& h = r.tally.latency();
  if (h.count() != 0) {
    facts.add("Latency p50 / p99", fmt::format("{} / {}", format_duration(h.quantile(0.5)),
                                               format_duration(h.quantile(0.99))));
    facts.add("Latency p99.9 / max",
              fmt::format("{} / {}", format_duration(h.quantile(0.999)), format_duration(h.max())));
  }
  facts.add("Calls / failed",
            fmt::format("{} / {}", r.tally.calls(), r.tally.errors() + r.tally.mismatches()));
  facts.add("Time", format_duration(r.elapsed));
  if (results.rows.size() > 1) {
    if (whole.fairness) facts.add("Fairness (Jain)", fmt::format("{:.4f}", *whole.fairness));
    if (setup.started) facts.add("Start skew, at most", format_duration(whole.skew));
  }
  return facts.take();
}

std::string problem_list(const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  std::string items;
  for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i) {
    items += fmt::format("<li>{}</li>\n", report::html::text(problems[i]));
  }
  if (problems.size() > kMostProblems) {
    items += fmt::format("<li>and {} more</li>\n", problems.size() - kMostProblems);
  }
  std::string body = "<div class=\"finding error\"><ul>\n" + items + "</ul></div>\n";
  return report::html::section("problems", "Problems", body);
}

std::string latency_cell(const base::Histogram& h, std::int64_t ns) {
  return h.count() == 0 ? std::string() : format_duration(ns);
}

// The order in which ranks are shown if there are too many: what is incomplete, then the slowest.
std::vector<std::size_t> shown_rows(const Results& results) {
  std::vector<std::size_t> order(results.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= kMostRanksInTable) return order;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Row& left = results.rows[a];
    const Row& right = results.rows[b];
    const bool left_done = left.state == State::kDone;
    const bool right_done = right.state == State::kDone;
    return left_done != right_done ? !left_done : rate_of(left) < rate_of(right);
  });
  order.resize(kMostRanksInTable);
  return order;
}

std::string rank_table(const Results& results, const Whole& whole) {
  const bool rounds = whole.rounds.size() > 1;
  const bool several = results.rows.size() > 1;
  Table table("Ranks");
  if (several) table.column("Rank", Align::kLeft);
  table.column("Host", Align::kLeft);
  if (rounds) table.column("Round", Align::kRight);
  table.column("Server", Align::kLeft)
      .column("State", Align::kLeft)
      .column("Calls/s", Align::kRight)
      .column("Data", Align::kRight)
      .column("p50", Align::kRight)
      .column("p99", Align::kRight)
      .column("max", Align::kRight)
      .column("Failed", Align::kRight)
      .column("Lost", Align::kRight, "Connections that were lost")
      .column("Worst second", Align::kRight, "Calls per second in the second with the fewest")
      .column("at", Align::kRight, "Begin of that second, since the start")
      .column("of average", Align::kRight, "That second, in relation to the rank's own average");
  for (const std::size_t i : shown_rows(results)) {
    const Row& row = results.rows[i];
    const base::Histogram h = row.latency.expanded();
    table.row();
    if (several) table.cell(fmt::format("{}", row.rank), row.rank);
    table.cell(row.host);
    if (rounds) table.cell(fmt::format("{}", row.round), row.round);
    table.cell(row.servers.size() == 1 ? row.servers.front()
                                       : counted(row.servers.size(), "server", "servers"));
    const std::string state = row.state < State::kDead
                                  ? std::string(load_ranks::state_name(row.state))
                                  : fmt::format("{} after {}", load_ranks::state_name(row.state),
                                                format_duration(row.last_heard));
    row.state == State::kDone
        ? table.cell(state)
        : table.markup(fmt::format("<span class=\"bad\">{}</span>", report::html::text(state)));
    const double rate = rate_of(row);
    const double bytes = static_cast<double>(row.bytes) / std::max(seconds(row.elapsed), 1e-9);
    table.cell(load::format_call_rate(rate), rate);
    table.cell(load::format_byte_rate(bytes), bytes);
    for (const std::int64_t ns : {h.quantile(0.5), h.quantile(0.99), h.max()}) {
      table.cell(latency_cell(h, ns), static_cast<double>(ns));
    }
    table.count(row.errors + row.mismatches);
    table.count(row.lost);
    const std::optional<WorstWindow>& worst = whole.worst[i];
    if (worst) {
      table.cell(load::format_call_rate(worst->calls_per_second), worst->calls_per_second);
      table.cell(fmt::format("{:.0f} s", seconds(worst->begin)), seconds(worst->begin));
      const std::string share = fmt::format("{:.0f} %", 100 * worst->of_average);
      worst->of_average < 0.5 ? table.markup(fmt::format("<span class=\"bad\">{}</span>", share))
                              : table.cell(share, worst->of_average);
    } else {
      for (int n = 0; n < 3; ++n) table.cell("");
    }
  }
  std::string body = table.take();
  if (results.rows.size() > kMostRanksInTable) {
    body += report::html::aside(fmt::format(
        "Of {} ranks, those that are incomplete, and the slowest.", results.rows.size()));
  }
  return report::html::section("ranks", several ? "Ranks" : "Figures", body);
}

std::string round_table(const Whole& whole) {
  if (whole.rounds.size() < 2) return {};
  Table table("Rounds");
  table.column("Round", Align::kLeft)
      .column("Begin", Align::kRight)
      .column("Time", Align::kRight)
      .column("Ranks", Align::kRight)
      .column("Calls/s", Align::kRight)
      .column("Data", Align::kRight);
  for (const load_ranks::RoundSum& r : whole.rounds) {
    const double time = std::max(seconds(r.elapsed), 1e-9);
    const double rate = static_cast<double>(r.right) / time;
    const double bytes = static_cast<double>(r.bytes) / time;
    table.row();
    table.cell(fmt::format("{}", r.round), r.round);
    table.cell(fmt::format("{:.1f} s", seconds(r.start)), seconds(r.start));
    table.cell(format_duration(r.elapsed), seconds(r.elapsed));
    table.cell(fmt::format("{}", r.rows), r.rows);
    table.cell(load::format_call_rate(rate), rate);
    table.cell(load::format_byte_rate(bytes), bytes);
  }
  return report::html::section("rounds", "Rounds", table.take());
}

std::string worst_table(const Results& results, const Whole& whole) {
  Table table("Worst windows");
  table.column("Window", Align::kLeft)
      .column("Where", Align::kLeft)
      .column("From", Align::kRight)
      .column("To", Align::kRight)
      .column("Calls/s", Align::kRight)
      .column("Data", Align::kRight)
      .column("of average", Align::kRight)
      .column("Failed", Align::kRight);
  const auto add = [&](const char* name, const std::optional<WorstWindow>& w, bool of_rank) {
    if (!w) return;
    const auto row = std::ranges::find_if(
        results.rows, [&](const Row& r) { return r.rank == w->rank && r.round == w->round; });
    table.row();
    table.cell(name);
    table.cell(of_rank && row != results.rows.end() && results.rows.size() > 1
                   ? load_ranks::row_name(*row, whole.rounds.size() > 1)
                   : "all");
    table.cell(fmt::format("{:.0f} s", seconds(w->begin)), seconds(w->begin));
    table.cell(fmt::format("{:.0f} s", seconds(w->begin + w->length)),
               seconds(w->begin + w->length));
    table.cell(load::format_call_rate(w->calls_per_second), w->calls_per_second);
    table.cell(load::format_byte_rate(w->bytes_per_second), w->bytes_per_second);
    table.cell(fmt::format("{:.0f} %", 100 * w->of_average), w->of_average);
    table.count(w->errors);
  };
  add("worst second", whole.second, true);
  add("worst 5 seconds", whole.five, true);
  if (results.rows.size() > 1) add("worst second of all together", whole.all_second, false);
  const std::string body = table.take();
  if (body.empty()) return {};
  return report::html::section(
      "worst", "Worst windows",
      body + report::html::aside("Of all ranks, the window that is the least of its "
                                 "rank's own average: a link that flaps shows here, even "
                                 "if averages hide it."));
}

}  // namespace

std::string load_page(const WholeSetup& setup, const Results& results, const Whole& whole,
                      const std::vector<std::string>& problems) {
  const load::Setup all = load_ranks::setup_of_all(setup, results);
  const std::string title = setup.pattern ? fmt::format("Load of {} from {}", all.server, all.from)
                                          : fmt::format("Load of {}", all.server);
  std::string page = report::html::page_head(title);
  page += fmt::format(
      "<header>\n<h1>{}</h1>\n<p class=\"sub\">{}{}, depth {}, {}{}; rpcrdma load</p>\n{}{}",
      report::html::text(title),
      setup.epoch == 0 ? std::string()
                       : report::format_time(setup.epoch).substr(0, kToSeconds) + " UTC; ",
      counted(all.connections, "connection", "connections"), all.depth,
      counted(all.threads, "thread", "threads"),
      all.rate == 0 ? std::string() : fmt::format(", target {:g} calls/s", all.rate),
      verdict(results, whole, problems), facts(setup, results, whole));
  struct Part {
    const char* id;
    const char* name;
    std::string body;
  };
  const std::vector<Part> parts{
      {"problems", "Problems", problem_list(problems)},
      {"time", "Over time", charts_over_time(results, whole)},
      {"latency", "Latency", charts_of_latency(results)},
      {"worst", "Worst windows", worst_table(results, whole)},
      {"rounds", "Rounds", round_table(whole)},
      {"ranks", results.rows.size() > 1 ? "Ranks" : "Figures", rank_table(results, whole)}};
  std::string links, body;
  for (const Part& part : parts) {
    if (part.body.empty()) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", part.id, part.name);
    body += part.body;
  }
  page += fmt::format("<nav aria-label=\"Sections\">\n{}</nav>\n</header>\n<main>\n{}</main>\n",
                      links, body);
  page += report::html::page_foot(
      fmt::format("Generated by rpcrdma {}. Times count from the start.", version::text()));
  return page;
}

}  // namespace rpcrdma::cli
