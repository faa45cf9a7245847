#include "text/time_text.h"

#include "outages.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

// A rare procedure, such as the NULL at the start of a mount, is not the slowest one.
constexpr std::uint64_t kEnoughCalls = 5;
constexpr std::int64_t kNotableSilence = 10'000'000;  // ns

struct Ranked {
  const ProcedureKey* key = nullptr;
  const Procedure* p = nullptr;
  std::int64_t p50_ns = 0;
  // Time in typical Calls: a few very slow ones do not count.
  [[nodiscard]] double time() const {
    return static_cast<double>(p50_ns) * static_cast<double>(p->total.count());
  }
};

VerdictProcedure described(const Ranked& of) {
  const Procedure& p = *of.p;
  VerdictProcedure d;
  d.name = of.key->reverse ? fmt::format("reverse {}", p.label) : p.label;
  d.calls = p.total.count();
  d.p50_ns = of.p50_ns;
  d.p99_ns = p.total.quantile(0.99);
  d.max_ns = p.total.max();
  if (p.in_responder.count() * 2 >= p.total.count() && of.p50_ns > 0) {
    const double share =
        100.0 * static_cast<double>(p.in_responder.quantile(0.5)) / static_cast<double>(of.p50_ns);
    d.responder_percent = static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 100.0)));
  }
  return d;
}

// The procedure that most time was spent in, and the slowest one if that is another.
std::vector<VerdictProcedure> procedures(const Report& r) {
  std::vector<Ranked> all;
  for (const auto& [key, p] : r.procedures) {
    if (p.total.count() != 0) all.push_back({&key, &p, p.total.quantile(0.5)});
  }
  std::vector<VerdictProcedure> list;
  if (all.empty()) return list;
  const auto is_rare = [](const Ranked& of) { return of.p->total.count() < kEnoughCalls; };
  if (!std::all_of(all.begin(), all.end(), is_rare)) std::erase_if(all, is_rare);
  const auto most = std::max_element(
      all.begin(), all.end(), [](const Ranked& a, const Ranked& b) { return a.time() < b.time(); });
  list.push_back(described(*most));
  const Ranked* slowest = nullptr;
  for (const Ranked& other : all) {
    if (is_rare(other) || other.p50_ns <= most->p50_ns) continue;
    if (slowest == nullptr || other.p50_ns > slowest->p50_ns) slowest = &other;
  }
  if (slowest != nullptr) list.push_back(described(*slowest));
  return list;
}

std::optional<VerdictResends> resends(const Report& r) {
  std::map<std::pair<std::string, std::string>, VerdictResends> by_side;
  for (const Connection& c : r.connections) {
    if (c.recorded) continue;  // an endpoint does not report how many packets it sent
    for (std::size_t s = 0; s < 2; ++s) {
      const EndPoint& e = c.side[s];
      const std::string role = c.roles == Roles::kUnknown ? "" : s == 0 ? "client" : "server";
      VerdictResends& side = by_side[{role, e.address}];
      side.role = role;
      side.address = e.address;
      side.retransmitted += e.counters.retransmitted;
      side.packets += e.counters.packets;
    }
  }
  std::optional<VerdictResends> worst;
  for (const auto& [key, side] : by_side) {
    if (side.retransmitted == 0 || side.retransmitted > side.packets) continue;
    if (!worst || side.percent() > worst->percent()) worst = side;
  }
  return worst;
}

// Returns the silence to name; null: none is far above the usual latency.
const Silence* notable_silence(const Report& r, const VerdictNumbers& n) {
  if (r.timing.silences.empty()) return nullptr;
  const Silence& longest = r.timing.silences.front();
  std::int64_t usual_ns = kNotableSilence;
  for (const VerdictProcedure& p : n.procedures) usual_ns = std::max(usual_ns, 2 * p.p50_ns);
  // The verdict names it already.
  const std::string_view stall = rules::rule(rules::RuleId::kStall).name;
  const bool is_finding = std::any_of(r.findings.begin(), r.findings.end(), [&](const Finding& f) {
    return f.rule == stall && f.connection == longest.connection;
  });
  return longest.length_ns() > usual_ns && !is_finding ? &longest : nullptr;
}

const char* responder_of(bool reverse) {
  return reverse ? "client" : "server";
}

std::string part(const VerdictProcedure& p) {
  const std::string share = p.responder_percent
                                ? fmt::format(" ({} % in the {})", *p.responder_percent,
                                              responder_of(p.name.starts_with("reverse ")))
                                : "";
  if (p.calls == 1) return fmt::format("{} {}{}", p.name, format_duration(p.max_ns), share);
  // Of fewer Calls the highest percentile is the maximum.
  constexpr std::uint64_t kEnoughForP99 = 100;
  const std::string p99 =
      p.calls < kEnoughForP99 ? std::string() : fmt::format(" p99 {},", format_duration(p.p99_ns));
  return fmt::format("{} p50 {}{},{} max {}", p.name, format_duration(p.p50_ns), share, p99,
                     format_duration(p.max_ns));
}

// "; 14 of 20 READ above 20 ms"
std::string limits(const Report& r) {
  std::string text;
  for (const SlowLimit& limit : r.timing.limits) {
    std::uint64_t calls = 0, slow = 0;
    for (const LimitedCalls& c : r.timing.limited) {
      if (c.limit != limit) continue;
      calls += c.calls;
      slow += c.slow;
    }
    if (calls == 0) {
      text += fmt::format("; no {} to compare with the limit of {}",
                          limit.procedure.empty() ? "Call" : limit.procedure,
                          format_duration(limit.limit_ns));
    } else {
      text +=
          fmt::format("; {} of {} {}", slow == 0 ? std::string("none") : fmt::format("{}", slow),
                      calls, limit_text(limit));
    }
  }
  return text;
}

}  // namespace

VerdictNumbers verdict_numbers(const Report& r) {
  VerdictNumbers n;
  n.calls = r.messages.kinds[static_cast<std::size_t>(model::Kind::kCall)];
  for (const auto& [key, p] : r.procedures) n.unanswered += p.unmatched;
  for (const LimitedCalls& c : r.timing.limited) n.slow += c.slow;
  n.retransmitted = r.capture.packets.retransmitted;
  n.resends = resends(r);
  n.procedures = procedures(r);
  if (!r.timing.silences.empty()) n.longest_silence_ns = r.timing.silences.front().length_ns();
  for (const Outage& o : outages(r)) {
    ++n.outages;
    n.longest_outage_ns = std::max(n.longest_outage_ns, o.length_ns());
  }
  return n;
}

std::string time_text(const Report& r, const VerdictNumbers& n) {
  if (n.procedures.empty()) return {};
  std::string text;
  for (const VerdictProcedure& p : n.procedures) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", part(p));
  }
  text += limits(r);
  if (const Silence* s = notable_silence(r, n); s != nullptr) {
    text += fmt::format("; longest silence of the {} {} on connection {} (from {}, {} in flight)",
                        responder_of(s->reverse), format_duration(s->length_ns()), s->connection,
                        format_clock(s->since_ns),
                        s->calls == 1 ? std::string("1 Call") : fmt::format("{} Calls", s->calls));
  }
  if (n.resends && n.resends->percent() >= 1) {
    text += fmt::format("; the {} retransmitted {} of {} packets ({:.0f} %)",
                        n.resends->role.empty()
                            ? n.resends->address
                            : fmt::format("{} {}", n.resends->role, n.resends->address),
                        n.resends->retransmitted, n.resends->packets, n.resends->percent());
  }
  const std::vector<Outage> all = outages(r);
  const auto longest = std::max_element(
      all.begin(), all.end(),
      [](const Outage& a, const Outage& b) { return a.length_ns() < b.length_ns(); });
  if (longest != all.end()) {
    text += fmt::format("; {}", outage_text(*longest));
    if (all.size() > 1) {
      text += fmt::format("; {} more outage{}", all.size() - 1, all.size() == 2 ? "" : "s");
    }
  }
  return text + '.';
}

}  // namespace rpcrdma::report
