// A side is accused if it holds most slow Calls, and slow Calls are a relevant part of all: a
// single Call that the scheduler of a busy machine delayed accuses nobody, nor do all that an
// overloaded machine delays now and then.
#include "sums.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace rpcrdma::ends {

namespace {

constexpr std::uint64_t kLeastSlow = 5;
constexpr std::uint64_t kLeastShare = 4;  // one in so many

std::size_t at(Side side) {
  return static_cast<std::size_t>(side);
}

std::int64_t length_of(const EndsCall& c) {
  return c.end_ns - c.begin_ns;
}

StageSum sum_of(std::vector<std::int64_t>& values) {
  StageSum sum;
  if (values.empty()) return sum;
  std::sort(values.begin(), values.end());
  sum.calls = values.size();
  for (const std::int64_t v : values) {
    if (__builtin_add_overflow(sum.total_ns, v, &sum.total_ns)) sum.total_ns = INT64_MAX;
  }
  sum.p50_ns = values[values.size() / 2];
  sum.p99_ns = values[std::min(values.size() - 1, values.size() * 99 / 100)];
  sum.max_ns = values.back();
  return sum;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_named(std::string_view label, std::string_view procedure) {
  const std::string_view name = label.substr(label.rfind(' ') + 1);
  return std::equal(name.begin(), name.end(), procedure.begin(), procedure.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

// "the network, to the client" is known only if the clocks are.
std::string stage_of_verdict(const std::vector<EndsCall>& calls, Side side, std::string& procedure,
                             std::int64_t& median) {
  struct Part {
    std::uint64_t calls = 0;
    std::vector<std::int64_t> took;
  };
  std::map<std::pair<Stage, std::string>, Part> parts;
  std::int64_t there = 0, back = 0;
  for (const EndsCall& c : calls) {
    if (c.side != side) continue;
    Part& p = parts[{c.stage, c.name}];
    ++p.calls;
    p.took.push_back(c.took_ns[static_cast<std::size_t>(c.stage)]);
    if (side != Side::kNetwork) continue;
    const std::int64_t t = c.took_ns[static_cast<std::size_t>(Stage::kNetworkThere)];
    const std::int64_t b = c.took_ns[static_cast<std::size_t>(Stage::kNetworkBack)];
    const std::int64_t bound = c.bound_ns;
    // A difference within the error shows no direction.
    if (bound == kUnknownNs || std::abs(t - b) <= 2 * bound) continue;
    (t > b ? there : back) += 1;
  }
  const auto most = std::max_element(parts.begin(), parts.end(), [](const auto& x, const auto& y) {
    return x.second.calls < y.second.calls;
  });
  if (most == parts.end()) return {};
  std::vector<std::int64_t>& took = most->second.took;
  std::nth_element(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2),
                   took.end());
  median = took[took.size() / 2];
  procedure = most->first.second;
  const Stage stage = most->first.first;
  if (stage == Stage::kNetworkThere || stage == Stage::kNetworkBack) {
    const auto certain = static_cast<std::uint64_t>(stage == Stage::kNetworkThere ? there : back);
    if (2 * certain < most->second.calls)
      return "network, in a direction that the clocks leave open";
  }
  return stage_text(stage);
}

std::string count_text(std::uint64_t n) {
  return fmt::format("{} Call{}", n, n == 1 ? "" : "s");
}

}  // namespace

std::string duration_text(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3g} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.3g} ms", value / 1e6);
  return fmt::format("{:.4g} s", value / 1e9);
}

std::int64_t slow_limit(const EndsOptions& options, const std::string& name) {
  for (const SlowProcedure& limit : options.limits) {
    if (limit.procedure.empty() || is_named(name, limit.procedure)) return limit.limit_ns;
  }
  return options.slow_ns;
}

void add_sums(const std::vector<EndsCall>& calls, const EndsOptions& options, Ends& ends) {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::uint32_t>> procedures;
  std::map<std::string, std::vector<std::uint32_t>> named;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    procedures[{calls[i].connection, calls[i].name}].push_back(i);
    named[calls[i].name].push_back(i);
    ++ends.sides[at(calls[i].side)];
  }
  std::vector<std::int64_t> values;
  for (const auto& [key, members] : procedures) {
    ProcedureEnds p;
    p.connection = key.first;
    p.name = key.second;
    p.calls = members.size();
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      values.clear();
      for (const std::uint32_t i : members) {
        if (calls[i].took_ns[stage] != kUnknownNs) values.push_back(calls[i].took_ns[stage]);
      }
      p.stages[stage] = sum_of(values);
    }
    values.clear();
    for (const std::uint32_t i : members) {
      values.push_back(length_of(calls[i]));
      ++p.sides[at(calls[i].side)];
    }
    p.all = sum_of(values);
    ends.procedures.push_back(std::move(p));
  }
  std::stable_sort(ends.procedures.begin(), ends.procedures.end(),
                   [](const ProcedureEnds& a, const ProcedureEnds& b) {
                     return a.all.total_ns > b.all.total_ns;
                   });

  for (auto& [name, members] : named) {
    const std::size_t kept = std::min(options.slowest, members.size());
    std::partial_sort(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(kept),
                      members.end(), [&](std::uint32_t a, std::uint32_t b) {
                        const std::int64_t x = length_of(calls[a]), y = length_of(calls[b]);
                        return x != y ? x > y : a < b;
                      });
    for (std::size_t i = 0; i < kept; ++i) ends.slowest.push_back(calls[members[i]]);
  }
  std::stable_sort(
      ends.slowest.begin(), ends.slowest.end(),
      [](const EndsCall& a, const EndsCall& b) { return length_of(a) > length_of(b); });
}

void add_verdict(const std::vector<EndsCall>& calls, const EndsOptions& options, Ends& ends) {
  if (ends.connections.empty()) {
    ends.verdict = "No side is judged: no connection is shown by two sources.";
    return;
  }
  if (calls.empty()) {
    ends.verdict = "No side is judged: of no Call both halves are complete.";
    return;
  }
  std::uint64_t slow = 0;
  for (std::size_t i = 1; i < ends.sides.size(); ++i) slow += ends.sides[i];
  const std::string limit = options.limits.empty()
                                ? fmt::format("{} or more", duration_text(options.slow_ns))
                                : std::string("as long as the limit or longer");
  if (slow == 0) {
    ends.verdict =
        fmt::format("No side is accused: none of {} took {}.", count_text(calls.size()), limit);
    return;
  }
  Side most = Side::kClient;
  for (const Side side : {Side::kNetwork, Side::kServer}) {
    if (ends.sides[at(side)] > ends.sides[at(most)]) most = side;
  }
  const std::uint64_t of_most = ends.sides[at(most)];
  const std::string slow_text =
      fmt::format("{} of {} took {}", slow, count_text(calls.size()), limit);
  if (slow < kLeastSlow || slow * kLeastShare < calls.size()) {
    ends.verdict =
        fmt::format("No side is accused: only {} (client {}, network {}, server {}, open {}).",
                    slow_text, ends.sides[at(Side::kClient)], ends.sides[at(Side::kNetwork)],
                    ends.sides[at(Side::kServer)], ends.sides[at(Side::kInconclusive)]);
    return;
  }
  // Two thirds: the side holds twice as many as all others together.
  if (of_most * 3 < slow * 2) {
    const std::uint64_t open = ends.sides[at(Side::kInconclusive)];
    ends.verdict =
        open * 3 >= slow * 2
            ? fmt::format(
                  "No side is named: {}, and the sources leave open where; a recording of "
                  "the other end would show it.",
                  slow_text)
            : fmt::format(
                  "No single side: {}, {} mostly at the client, {} in the network, {} at "
                  "the server.",
                  slow_text, ends.sides[at(Side::kClient)], ends.sides[at(Side::kNetwork)],
                  ends.sides[at(Side::kServer)]);
    return;
  }
  std::string procedure;
  std::int64_t median = 0;
  const std::string stage = stage_of_verdict(calls, most, procedure, median);
  ends.accused = most;
  ends.verdict =
      fmt::format("The {}: {}, {} of them mostly there; above all {}: {} (median {}).",
                  side_key(most), slow_text, of_most, procedure, stage, duration_text(median));
}

}  // namespace rpcrdma::ends
