// Formats the result of a load as text and as JSON.
#include <array>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/load/latency_json.h>
#include <rpcrdma/load/report.h>

namespace rpcrdma::load {

namespace {

using base::format_bytes;
using base::format_duration;
using Json = nlohmann::ordered_json;

struct PartName {
  const char* text;
  const char* key;
};
constexpr std::array<PartName, kParts> kPartNames{{{"due, not started", "turn"},
                                                   {"waiting for credit", "credit"},
                                                   {"sent until Reply", "reply"},
                                                   {"  sending", "send"},
                                                   {"  peer reading", "read"},
                                                   {"  peer", "peer"},
                                                   {"  data and network", "network"},
                                                   {"  peer and network", "peer_and_network"},
                                                   {"fencing memory", "fence"}}};

double per_second(std::uint64_t n, fabric::Time time) {
  return time <= 0 ? 0 : static_cast<double>(n) * 1e9 / static_cast<double>(time);
}

double cpu_us(fabric::Time time, std::uint64_t calls) {
  return calls == 0 ? 0 : static_cast<double>(time) / 1e3 / static_cast<double>(calls);
}

Json cpu_json(const Result& r) {
  const std::uint64_t calls = r.tally.calls();
  if (calls == 0) return {{"user", nullptr}, {"system", nullptr}};
  return {{"user", cpu_us(r.user, calls)}, {"system", cpu_us(r.system, calls)}};
}

std::string counted(std::uint64_t n, const char* one, const char* several) {
  return fmt::format("{} {}", n, n == 1 ? one : several);
}

void latency_line(std::string& out, std::string_view name, const base::Histogram& h) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{:<20}", name);
  const auto cell = [&](std::int64_t ns) {
    fmt::format_to(to, "{:>9}", h.count() == 0 ? "-" : format_duration(ns));
  };
  for (const double q : {0.5, 0.9, 0.95, 0.99, 0.999, 0.9999}) cell(h.quantile(q));
  cell(h.max());
  cell(static_cast<std::int64_t>(h.mean()));
  out += '\n';
}

// As in reports of analyze: docs/json.md.
Json histogram_json(const base::Histogram& h) {
  Json buckets = Json::array();
  h.for_each_bucket([&](base::Histogram::Bucket b) {
    buckets.push_back(Json::array({b.index, b.count}));
  });
  return {{"min", h.min()}, {"max", h.max()}, {"sum", h.sum()}, {"buckets", buckets}};
}

Json over_time_json(const LatencyBins& over_time) {
  Json bins = Json::array();
  for (const auto& [n, counts] : over_time.bins()) {
    Json pairs = Json::array();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != 0) pairs.push_back(Json::array({i, counts[i]}));
    }
    bins.push_back({{"bin", n}, {"log2", pairs}});
  }
  return {{"shift", over_time.shift()}, {"bins", bins}};
}

void add_packets(std::string& out, const Packets& p) {
  fmt::format_to(std::back_inserter(out), "{} retransmitted; {} and {} from the server\n",
                 counted(p.retransmitted, "packet", "packets"), counted(p.naks, "NAK", "NAKs"),
                 counted(p.rnrs, "RNR NAK", "RNR NAKs"));
}

Json packets_json(const std::optional<Packets>& p, std::uint64_t Packets::*which) {
  return p ? Json((*p).*which) : Json();
}

// Adds notes on the limits of the latencies, and of the parts of "sent until Reply".
void add_notes(std::string& out, const Result& r) {
  const Tally& t = r.tally;
  const auto to = std::back_inserter(out);
  const std::uint64_t without = t.errors() + t.mismatches() + r.not_begun + r.abandoned;
  if (without != 0 && t.right() != 0) {
    fmt::format_to(to, "latency: only Calls with a correct answer; {} not included\n",
                   counted(without, "other is", "others are"));
  }
  const std::uint64_t unknown = t.right() - t.part(Part::kSend).count();
  if (unknown != 0) {
    fmt::format_to(to,
                   "sending: unknown for {} whose Reply arrived before an acknowledgment was seen; "
                   "included in the network's time\n",
                   counted(unknown, "Call", "Calls"));
  }
  const std::uint64_t unreported = t.part(Part::kPeerOrNetwork).count();
  if (unreported != 0) {
    fmt::format_to(to, "peer and network: the Replies of {} do not contain the peer's own time\n",
                   counted(unreported, "Call", "Calls"));
  }
  if (t.implausible() != 0) {
    fmt::format_to(to,
                   "peer: for {} it reports more than the time until the Reply; limited to that\n",
                   counted(t.implausible(), "Call", "Calls"));
  }
}

}  // namespace

nlohmann::ordered_json latency_json(const base::Histogram& h) {
  // Without Calls there is no latency, and 0 would be one.
  const auto us = [&](auto ns) {
    return h.count() == 0 ? Json() : Json(static_cast<double>(ns) / 1e3);
  };
  return {{"p50", us(h.quantile(0.5))},
          {"p90", us(h.quantile(0.9))},
          {"p95", us(h.quantile(0.95))},
          {"p99", us(h.quantile(0.99))},
          {"p999", us(h.quantile(0.999))},
          {"p9999", us(h.quantile(0.9999))},
          {"max", us(h.max())},
          {"min", us(h.min())},
          {"mean", us(h.mean())}};
}

std::string format_byte_rate(double per_second) {
  constexpr std::array<const char*, 5> kPrefixes{"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  // A value that would be written as 1000 of one unit is 1 of the next.
  while (per_second >= 999.5 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  const int decimals = prefix == 0 || per_second >= 99.95 ? 0 : per_second >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}B/s", per_second, decimals, kPrefixes[prefix]);
}

std::string format_call_rate(double per_second) {
  return fmt::format("{:.{}f}", per_second, per_second < 999.95 ? 1 : 0);
}

Limit limit_of(const Setup& s, const Result& r) {
  constexpr double kBusy = 0.9;
  if (s.rate == 0 || r.not_begun == 0 || r.tally.right() == 0 || r.elapsed <= 0) {
    return Limit::kNone;
  }
  const auto elapsed = static_cast<double>(r.elapsed);
  if (static_cast<double>(r.user + r.system) >= kBusy * elapsed * s.threads) {
    return Limit::kProcessor;
  }
  const double credit = r.tally.part(Part::kCredit).mean();
  const double reply = r.tally.part(Part::kReply).mean() + r.tally.part(Part::kFence).mean();
  if (credit > reply) return Limit::kCredits;
  const double slots = static_cast<double>(s.depth) * s.connections;
  return slots * 1e9 < s.rate * (credit + reply) ? Limit::kDepth : Limit::kNone;
}

namespace {

const char* limit_name(Limit limit) {
  switch (limit) {
    case Limit::kProcessor:
      return "processor";
    case Limit::kCredits:
      return "credits";
    case Limit::kDepth:
      return "depth";
    case Limit::kNone:
      break;
  }
  return nullptr;
}

// Explains why the rate was not reached.
void add_limit(std::string& out, const Setup& s, const Result& r) {
  const auto to = std::back_inserter(out);
  switch (limit_of(s, r)) {
    case Limit::kProcessor:
      fmt::format_to(to,
                     "the processor limits the rate: this process used {:.0f} % of the time of {}; "
                     "raise --threads, or run on a faster machine\n",
                     100 * static_cast<double>(r.user + r.system) /
                         (static_cast<double>(r.elapsed) * s.threads),
                     counted(s.threads, "thread", "threads"));
      break;
    case Limit::kCredits:
      fmt::format_to(
          to,
          "credits limit the rate: Calls waited {} for a credit on average; raise "
          "--connections, or --credits of the server\n",
          format_duration(static_cast<fabric::Time>(r.tally.part(Part::kCredit).mean())));
      break;
    case Limit::kDepth:
      fmt::format_to(
          to,
          "the depth limits the rate: {} in flight {} at most {} calls/s at this "
          "latency; raise --depth or --connections\n",
          counted(std::uint64_t{s.depth} * s.connections, "Call", "Calls"),
          s.depth * s.connections == 1 ? "makes" : "make",
          format_call_rate(static_cast<double>(s.depth) * s.connections * 1e9 /
                           (r.tally.part(Part::kCredit).mean() + r.tally.part(Part::kReply).mean() +
                            r.tally.part(Part::kFence).mean())));
      break;
    case Limit::kNone:
      break;
  }
}

void add_reverse(std::string& out, const Result& r) {
  const Reverse& v = *r.reverse;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "reverse: {} correct in {}: {} calls/s; {} wrong, {} failed", v.right,
                 format_duration(r.elapsed), format_call_rate(per_second(v.right, r.elapsed)),
                 v.wrong, v.failed);
  if (v.resent != 0) fmt::format_to(to, ", {} resent", v.resent);
  out += '\n';
}

}  // namespace

std::string to_text(const Setup& s, const Result& r) {
  const Tally& t = r.tally;
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{} from {}: {}, depth {}, {}{}\n", s.server, s.from,
                 counted(s.connections, "connection", "connections"), s.depth,
                 counted(s.threads, "thread", "threads"),
                 s.rate == 0 ? std::string() : fmt::format(", target {:g} calls/s", s.rate));
  if (r.reverse) add_reverse(out, r);
  if (r.reverse && t.calls() == 0) return out;
  fmt::format_to(to, "{}{} in {}: {} calls/s, {} ({})\n", r.interrupted ? "interrupted: " : "",
                 counted(t.calls(), "Call", "Calls"), format_duration(r.elapsed),
                 format_call_rate(per_second(t.right(), r.elapsed)),
                 format_byte_rate(per_second(t.bytes(), r.elapsed)), format_bytes(t.bytes()));
  fmt::format_to(to, "{}, {}\n", counted(t.errors(), "error", "errors"),
                 counted(t.mismatches(), "mismatch", "mismatches"));
  for (const auto& [reason, count] : t.reasons()) fmt::format_to(to, "  {} x {}\n", count, reason);
  if (r.not_begun != 0) {
    fmt::format_to(to, "{} due but not started before the end\n",
                   counted(r.not_begun, "Call was", "Calls were"));
    add_limit(out, s, r);
  }
  if (r.abandoned != 0) {
    fmt::format_to(to, "{} in flight at the end and abandoned\n",
                   counted(r.abandoned, "Call was", "Calls were"));
  }
  if (r.lost != 0) {
    fmt::format_to(to, "{} lost, {} resent\n",
                   counted(r.lost, "connection was", "connections were"),
                   counted(t.resent(), "Call was", "Calls were"));
  }
  if (r.down != 0) {
    fmt::format_to(to, "{} not re-established: {}\n",
                   counted(r.down, "connection was", "connections were"), r.why_down);
  }
  if (r.packets) add_packets(out, *r.packets);
  if (r.device_work) out += to_text(*r.device_work, t.calls());
  fmt::format_to(to, "processor time per Call: {:.1f} us, {:.1f} us of it in the kernel\n\n",
                 cpu_us(r.user + r.system, t.calls()), cpu_us(r.system, t.calls()));

  fmt::format_to(to, "{:<20}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "", "p50", "p90", "p95",
                 "p99", "p99.9", "p99.99", "max", "mean");
  latency_line(out, "latency", t.latency());
  for (std::size_t i = 0; i < kParts; ++i) {
    const base::Histogram& part = t.part(static_cast<Part>(i));
    // A part that no Call has.
    if (part.count() == 0 && t.right() != 0) continue;
    latency_line(out, fmt::format("  {}", kPartNames[i].text), part);
  }
  for (std::uint32_t i = 0; i < s.procedures.size(); ++i) {
    const Tally::Procedure& p = t.procedure(i);
    // With a single procedure this would repeat the total.
    if (p.calls == 0 || p.calls == t.calls()) continue;
    latency_line(out, fmt::format("{}, {}", s.procedures[i], p.calls), p.latency);
  }
  add_notes(out, r);
  return out;
}

std::string to_json(const Setup& s, const Result& r) {
  const Tally& t = r.tally;
  Json parts = Json::object();
  for (std::size_t i = 0; i < kParts; ++i) {
    const base::Histogram& part = t.part(static_cast<Part>(i));
    Json& json = parts[kPartNames[i].key] = latency_json(part);
    json["calls"] = part.count();
  }
  Json procedures = Json::array();
  for (std::uint32_t i = 0; i < s.procedures.size(); ++i) {
    const Tally::Procedure& p = t.procedure(i);
    if (p.calls == 0) continue;
    procedures.push_back({{"name", s.procedures[i]},
                          {"calls", p.calls},
                          {"latency_us", latency_json(p.latency)},
                          {"histogram_ns", histogram_json(p.latency)},
                          {"over_time", over_time_json(p.over_time)}});
  }
  Json reasons = Json::object();
  for (const auto& [reason, count] : t.reasons()) reasons[reason] = count;
  const char* const name = limit_name(limit_of(s, r));
  const Json limit = name != nullptr ? Json(name) : Json();
  Json report{{"server", s.server},
              {"from", s.from},
              {"connections", s.connections},
              {"depth", s.depth},
              {"threads", s.threads},
              {"rate", s.rate},
              {"seed", s.seed},
              {"calls", t.calls()},
              {"errors", t.errors()},
              {"mismatches", t.mismatches()},
              {"reasons", reasons},
              {"not_begun", r.not_begun},
              {"limited_by", limit},
              {"abandoned", r.abandoned},
              {"connections_lost", r.lost},
              {"connections_down", r.down},
              {"sent_again", t.resent()},
              {"credit_stalls", r.stalls},
              {"packets_retransmitted", packets_json(r.packets, &Packets::retransmitted)},
              {"naks", packets_json(r.packets, &Packets::naks)},
              {"rnr_naks", packets_json(r.packets, &Packets::rnrs)},
              {"device_work", r.device_work ? to_json(*r.device_work) : Json()},
              {"interrupted", r.interrupted},
              {"seconds", static_cast<double>(r.elapsed) / 1e9},
              {"calls_per_second", per_second(t.right(), r.elapsed)},
              {"bytes", t.bytes()},
              {"bytes_per_second", per_second(t.bytes(), r.elapsed)},
              {"cpu_us_per_call", cpu_json(r)},
              {"latency_us", latency_json(t.latency())},
              {"parts_us", parts},
              {"implausible", t.implausible()},
              {"procedures", procedures},
              {"failed", r.failed}};
  if (r.reverse) {
    report["reverse"] = {{"right", r.reverse->right},
                         {"wrong", r.reverse->wrong},
                         {"failed", r.reverse->failed},
                         {"sent_again", r.reverse->resent}};
  }
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string progress_line(const Progress& before, const Progress& now, fabric::Time since_before,
                          fabric::Time since_start) {
  return fmt::format("{:.0f} s: {} calls/s, {}, {} failed", static_cast<double>(since_start) / 1e9,
                     format_call_rate(per_second(now.calls - before.calls, since_before)),
                     format_byte_rate(per_second(now.bytes - before.bytes, since_before)),
                     now.failed);
}

}  // namespace rpcrdma::load
