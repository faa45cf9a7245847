// Values derived from the results of all ranks: sums, shares, the slowest rank, the worst moments.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load_ranks/report.h>

namespace rpcrdma::load_ranks {

namespace {

using fabric::Time;

constexpr Time kFive = 5 * fabric::kSecond;

// Until when the row's numbers are known, since the start of its round.
Time known_until(const Row& row) {
  return row.state >= State::kDead ? row.last_heard : row.skew + row.elapsed;
}

double per_second(double n, Time time) {
  return time <= 0 ? 0 : n * 1e9 / static_cast<double>(time);
}

Time start_of(const Results& results, std::uint32_t round) {
  const auto at = std::ranges::lower_bound(results.rounds, round, {}, &RoundTime::round);
  return at != results.rounds.end() && at->round == round ? at->start : 0;
}

// The `length` in a row with the fewest Calls, of those that are whole; the first of several.
std::optional<WorstWindow> worst_of(const Series& series, Time until, Time length) {
  const std::vector<Window>& windows = series.windows();
  const Time width = series.width();
  const auto in_one = static_cast<std::size_t>(std::max<Time>((length + width - 1) / width, 1));
  const auto whole = static_cast<std::size_t>(std::max<Time>(until, 0) / width);
  std::optional<WorstWindow> worst;
  std::uint64_t fewest = 0;
  for (std::size_t i = 0; i + in_one <= whole; ++i) {
    Window sum;
    // A load that stalls at its end has no windows there.
    for (std::size_t j = i; j < std::min(i + in_one, windows.size()); ++j) sum.merge(windows[j]);
    if (worst && sum.calls >= fewest) continue;
    fewest = sum.calls;
    WorstWindow& w = worst.emplace();
    w.begin = static_cast<Time>(i) * width;
    w.length = static_cast<Time>(in_one) * width;
    w.calls = sum.calls;
    w.errors = sum.errors;
    w.calls_per_second = per_second(static_cast<double>(sum.calls), w.length);
    w.bytes_per_second = per_second(static_cast<double>(sum.bytes), w.length);
    if (windows.size() <= i && sum.calls == 0) break;  // the rest is the same
  }
  return worst;
}

std::optional<WorstWindow> worst_of(const Results& results, const Row& row, Time length) {
  auto worst = worst_of(row.series, known_until(row), length);
  if (!worst) return worst;
  worst->rank = row.rank;
  worst->round = row.round;
  worst->begin += start_of(results, row.round);
  const double average = rate_of(row);
  worst->of_average = average > 0 ? worst->calls_per_second / average : 0;
  return worst;
}

void keep_worse(std::optional<WorstWindow>& worst, const std::optional<WorstWindow>& other) {
  if (other && (!worst || other->of_average < worst->of_average)) worst = other;
}

void add_sums(load::Result& sum, const Row& row) {
  sum.user += row.user;
  sum.system += row.system;
  sum.not_begun += row.not_begun;
  sum.abandoned += row.abandoned;
  sum.lost += row.lost;
  sum.down += row.down;
  if (row.down != 0) sum.why_down = row.why_down;
  sum.stalls += row.stalls;
  sum.interrupted = sum.interrupted || row.interrupted;
  if (row.packets) {
    if (!sum.packets) sum.packets.emplace();
    sum.packets->retransmitted += row.packets->retransmitted;
    sum.packets->naks += row.packets->naks;
    sum.packets->rnrs += row.packets->rnrs;
  }
  if (row.reverse) {
    if (!sum.reverse) sum.reverse.emplace();
    sum.reverse->right += row.reverse->right;
    sum.reverse->wrong += row.reverse->wrong;
    sum.reverse->failed += row.reverse->failed;
    sum.reverse->resent += row.reverse->resent;
  }
}

std::vector<RoundSum> sum_rounds(const Results& results) {
  std::vector<RoundSum> rounds;
  for (const Row& row : results.rows) {  // by round
    if (rounds.empty() || rounds.back().round != row.round) {
      rounds.push_back({.round = row.round, .start = start_of(results, row.round)});
    }
    RoundSum& round = rounds.back();
    ++round.rows;
    round.right += row.right();
    round.bytes += row.bytes;
    round.elapsed = std::max(round.elapsed, known_until(row));
  }
  return rounds;
}

// Latest minus earliest begin in a round, at most.
Time skew_of(const Results& results) {
  struct Begins {
    Time first = fabric::kNever, last = -fabric::kNever;
    int ranks = 0;
  };
  std::map<std::uint32_t, Begins> rounds;
  for (const Row& row : results.rows) {
    if (row.state >= State::kDead) continue;
    const Time error = row.offset ? row.offset->error : 0;
    Begins& begins = rounds[row.round];
    begins.first = std::min(begins.first, row.skew - error);
    begins.last = std::max(begins.last, row.skew + error);
    ++begins.ranks;
  }
  Time skew = 0;
  for (const auto& [round, begins] : rounds) {
    if (begins.ranks > 1) skew = std::max(skew, begins.last - begins.first);
  }
  return skew;
}

}  // namespace

double rate_of(const Row& row) {
  return per_second(static_cast<double>(row.right()), row.elapsed);
}

std::optional<double> jain(const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  if (squares <= 0) return std::nullopt;
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

Whole derive(const WholeSetup& setup, const Results& results, const load::Thresholds& limits) {
  Whole whole;
  whole.rounds = sum_rounds(results);
  load::Result& sum = whole.result;
  sum.tally = results.tally;
  for (const RoundSum& round : whole.rounds) sum.elapsed += round.elapsed;
  struct Share {
    std::uint64_t right = 0;
    Time elapsed = 0;
  };
  std::map<std::uint32_t, Share> shares;
  std::vector<double> rates;
  for (const Row& row : results.rows) {
    add_sums(sum, row);
    const std::optional<WorstWindow> second = worst_of(results, row, fabric::kSecond);
    whole.worst.push_back(second);
    keep_worse(whole.second, second);
    keep_worse(whole.five, worst_of(results, row, kFive));
    Series shifted;
    for (std::size_t i = 0; i < row.series.windows().size(); ++i) {
      const Time begin = start_of(results, row.round) + static_cast<Time>(i) * row.series.width();
      shifted.add(static_cast<std::uint64_t>((begin + fabric::kSecond / 2) / fabric::kSecond),
                  row.series.windows()[i]);
    }
    shifted.widen(row.series.shift());
    whole.series.merge(shifted);
    if (row.state != State::kDone) {
      whole.missing.push_back(&row);
      continue;
    }
    Share& share = shares[row.rank];
    share.right += row.right();
    share.elapsed += row.elapsed;
    rates.push_back(rate_of(row));
    if (whole.slowest == nullptr || rate_of(row) < rate_of(*whole.slowest)) whole.slowest = &row;
  }
  if (rates.size() < 2) whole.slowest = nullptr;
  if (whole.slowest != nullptr) {
    std::ranges::nth_element(rates, rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2));
    const double median = rates[rates.size() / 2];
    if (median > 0) whole.slowest_of_median = rate_of(*whole.slowest) / median;
  }
  std::vector<double> parts;
  for (const auto& [rank, share] : shares) {
    parts.push_back(per_second(static_cast<double>(share.right), share.elapsed));
  }
  if (parts.size() > 1) whole.fairness = jain(parts);
  whole.fair_ranks = static_cast<std::uint32_t>(parts.size());
  if (setup.started) whole.skew = skew_of(results);
  if (whole.rounds.size() == 1) {
    whole.all_second = worst_of(whole.series, whole.rounds.front().elapsed, fabric::kSecond);
    const double average = per_second(static_cast<double>(sum.tally.right()), sum.elapsed);
    if (whole.all_second && average > 0) {
      whole.all_second->of_average = whole.all_second->calls_per_second / average;
    }
  }
  sum.failed = limits.passed(sum.tally, {sum.not_begun, sum.abandoned});
  return whole;
}

std::string row_name(const Row& row, bool with_round) {
  std::string name = fmt::format("rank {}", row.rank);
  if (!row.host.empty()) name += fmt::format(" ({})", row.host);
  if (with_round) name += fmt::format(" in round {}", row.round);
  return name;
}

std::vector<std::string> complaints(const Results& results, const Whole& whole) {
  std::vector<std::string> all;
  const bool rounds = whole.rounds.size() > 1;
  for (const Row* const row : whole.missing) {
    all.push_back(fmt::format("{} {}", row_name(*row, rounds), missing_text(*row)));
  }
  if (results.rows.empty()) all.emplace_back("no rank made a Call");
  for (const std::string& limit : whole.result.failed) {
    all.push_back(fmt::format("all ranks: {}", limit));
  }
  const load::Result& r = whole.result;
  if (r.tally.mismatches() != 0) {
    all.push_back(fmt::format("{} Calls had wrong data", r.tally.mismatches()));
  }
  for (const Row& row : results.rows) {
    const std::string name = row_name(row, rounds);
    for (const std::string& limit : row.failed) all.push_back(fmt::format("{}: {}", name, limit));
    if (row.down != 0) {
      all.push_back(fmt::format("{}: {} {} lost and not re-established: {}", name, row.down,
                                row.down == 1 ? "connection was" : "connections were",
                                row.why_down));
    }
    // Ctrl-C abandons Calls, too, which is no fault of the server.
    if (row.abandoned != 0 && !row.interrupted) {
      all.push_back(fmt::format("{}: {} {} without an answer when the time was over", name,
                                row.abandoned, row.abandoned == 1 ? "Call was" : "Calls were"));
    }
    const bool no_reverse = row.reverse && (row.reverse->wrong != 0 || row.reverse->failed != 0 ||
                                            row.reverse->right == 0);
    if (no_reverse) all.push_back(fmt::format("{}: reverse Calls failed", name));
    if (row.state == State::kDone && row.right() == 0 && !row.reverse) {
      all.push_back(fmt::format("{}: no Call was answered", name));
    }
  }
  return all;
}

std::string missing_text(const Row& row) {
  const std::string why = row.why.empty() ? std::string() : ": " + row.why;
  if (row.state == State::kFailed) {
    return fmt::format("failed after {}{}", base::format_duration(row.elapsed), why);
  }
  const char* const what = row.state == State::kDead    ? "is dead"
                           : row.state == State::kStuck ? "is stuck"
                                                        : "is lost";
  if (row.last_heard <= 0) return fmt::format("{}, nothing was heard from it{}", what, why);
  return fmt::format("{}, last heard of {} after the start{}", what,
                     base::format_duration(row.last_heard), why);
}

}  // namespace rpcrdma::load_ranks
