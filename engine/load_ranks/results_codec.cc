// Results as bytes: "RLR" and the version, then rows, rounds, the tally and the histograms.
#include "codec.h"

#include <fmt/format.h>

#include <rpcrdma/load_ranks/results.h>
#include <rpcrdma/load_ranks/tick.h>

namespace rpcrdma::load_ranks {

namespace {

using fabric::Time;

constexpr std::string_view kMagic = "RLR";
constexpr std::string_view kTickMagic = "RLT";
constexpr std::uint64_t kVersion = 1;
// Longer than any load: times up to here can be added without overflow.
constexpr Time kLongest = Time{1} << 60;

void put(ByteWriter& w, const std::vector<std::string>& texts, std::size_t most) {
  const std::size_t count = std::min(texts.size(), most);
  w.number(count);
  for (std::size_t i = 0; i < count; ++i) w.text(texts[i], kMostText);
}

std::vector<std::string> get_texts(ByteReader& r, std::size_t most) {
  std::vector<std::string> texts(r.count(most));
  for (std::string& text : texts) text = r.text(kMostText);
  return texts;
}

Time get_time(ByteReader& r) {
  const Time t = r.signed_number();
  if (t > -kLongest && t < kLongest) return t;
  r.fail();
  return 0;
}

void put(ByteWriter& w, const Series& series) {
  w.number(series.shift());
  w.number(series.windows().size());
  for (const Window& window : series.windows()) {
    w.number(window.calls);
    w.number(window.errors);
    w.number(window.bytes);
    w.number(window.max_ns);
  }
}

Series get_series(ByteReader& r) {
  const unsigned shift = r.number32(kMaxWindowShift);
  std::vector<Window> windows(r.count(kMostWindows));
  for (Window& w : windows)
    w = {.calls = r.number(),
         .errors = r.number(),
         .bytes = r.number(),
         .max_ns = r.number(kLongest)};
  Series series;
  if (!series.restore(shift, std::move(windows))) r.fail();
  return series;
}

// Flags of what may be absent.
template <typename T, typename Put>
void put(ByteWriter& w, const std::optional<T>& value, Put&& put_value) {
  w.flag(value.has_value());
  if (value) put_value(*value);
}

void put(ByteWriter& w, const Row& row) {
  w.number(row.rank);
  w.number(row.round);
  w.text(row.host, kMostText);
  w.text(row.from, kMostText);
  put(w, row.servers, kMostServers);
  w.number(static_cast<std::uint64_t>(row.state));
  w.text(row.why, kMostText);
  w.signed_number(row.last_heard);
  put(w, row.offset, [&](const ClockOffset& o) {
    w.signed_number(o.offset);
    w.signed_number(o.error);
  });
  w.signed_number(row.skew);
  for (const std::uint64_t n : {row.calls, row.errors, row.mismatches, row.bytes, row.not_begun,
                                row.abandoned, row.lost, row.down, row.stalls, row.resent}) {
    w.number(n);
  }
  w.text(row.why_down, kMostText);
  for (const Time t : {row.elapsed, row.user, row.system}) w.signed_number(t);
  w.flag(row.interrupted);
  put(w, row.packets, [&](const load::Packets& p) {
    for (const std::uint64_t n : {p.retransmitted, p.naks, p.rnrs}) w.number(n);
  });
  put(w, row.reverse, [&](const load::Reverse& v) {
    for (const std::uint64_t n : {v.right, v.wrong, v.failed, v.resent}) w.number(n);
  });
  w.histogram(row.latency.expanded());
  put(w, row.failed, kMostFailed);
  put(w, row.series);
}

Row get_row(ByteReader& r) {
  Row row;
  row.rank = r.number32(kMostRanks - 1);
  row.round = r.number32(kMostRounds - 1);
  row.host = r.text(kMostText);
  row.from = r.text(kMostText);
  row.servers = get_texts(r, kMostServers);
  row.state = static_cast<State>(r.number(static_cast<std::uint64_t>(State::kLost)));
  row.why = r.text(kMostText);
  row.last_heard = get_time(r);
  if (r.flag()) {
    ClockOffset& offset = row.offset.emplace();
    offset.offset = get_time(r);
    offset.error = get_time(r);
  }
  row.skew = get_time(r);
  for (std::uint64_t* const n :
       {&row.calls, &row.errors, &row.mismatches, &row.bytes, &row.not_begun, &row.abandoned,
        &row.lost, &row.down, &row.stalls, &row.resent}) {
    *n = r.number();
  }
  if (row.errors > row.calls || row.mismatches > row.calls - row.errors) r.fail();
  row.why_down = r.text(kMostText);
  for (Time* const t : {&row.elapsed, &row.user, &row.system}) *t = get_time(r);
  row.interrupted = r.flag();
  if (r.flag()) {
    load::Packets& p = row.packets.emplace();
    for (std::uint64_t* const n : {&p.retransmitted, &p.naks, &p.rnrs}) *n = r.number();
  }
  if (r.flag()) {
    load::Reverse& v = row.reverse.emplace();
    for (std::uint64_t* const n : {&v.right, &v.wrong, &v.failed, &v.resent}) *n = r.number();
  }
  row.latency = base::CompactHistogram(r.histogram());
  row.failed = get_texts(r, kMostFailed);
  row.series = get_series(r);
  return row;
}

LatencySeries get_latency_series(ByteReader& r) {
  const unsigned shift = r.number32(kMaxWindowShift);
  const std::size_t count = r.count(kMostWindows);
  std::vector<base::CompactHistogram> windows;
  for (std::size_t i = 0; i < count && !r.failed(); ++i) {
    windows.emplace_back(r.histogram());
  }
  LatencySeries series;
  if (!series.restore(shift, std::move(windows))) r.fail();
  return series;
}

void put(ByteWriter& w, const load::LatencyBins& bins) {
  w.number(bins.bins().size());
  if (bins.bins().empty()) return;
  w.number(bins.shift());
  std::int64_t before = 0;
  for (const auto& [n, counts] : bins.bins()) {
    w.signed_number(n - before);
    before = n;
    for (const std::uint32_t count : counts) w.number(count);
  }
}

load::LatencyBins get_bins(ByteReader& r) {
  const std::size_t count = r.count(load::LatencyBins::kMost);
  if (count == 0) return {};
  const unsigned shift = r.number32(64);
  std::map<std::int64_t, load::LatencyBins::Counts> bins;
  Time n = 0;
  for (std::size_t i = 0; i < count && !r.failed(); ++i) {
    const Time step = get_time(r);
    if (i != 0 && step <= 0) r.fail();
    n += step;
    for (std::uint32_t& bucket : bins[n]) bucket = r.number32();
    if (n <= -kLongest || n >= kLongest) r.fail();
  }
  if (!r.failed()) {
    if (auto restored = load::LatencyBins::restore(shift, std::move(bins))) {
      return std::move(*restored);
    }
  }
  r.fail();
  return {};
}

void put(ByteWriter& w, const load::TallyState& s) {
  for (const std::uint64_t n :
       {s.calls, s.errors, s.mismatches, s.bytes, s.implausible, s.resent}) {
    w.number(n);
  }
  w.histogram(s.latency);
  for (const base::Histogram& part : s.parts) w.histogram(part);
  for (const auto& procedure : s.procedures) {
    w.number(procedure.calls);
    w.histogram(procedure.latency);
    put(w, procedure.over_time);
  }
  w.number(s.reasons.size());
  for (const auto& [reason, count] : s.reasons) {
    w.text(reason, kMostText);
    w.number(count);
  }
}

load::Tally get_tally(ByteReader& r) {
  load::TallyState s;
  for (std::uint64_t* const n :
       {&s.calls, &s.errors, &s.mismatches, &s.bytes, &s.implausible, &s.resent}) {
    *n = r.number();
  }
  s.latency = r.histogram();
  for (base::Histogram& part : s.parts) part = r.histogram();
  for (auto& procedure : s.procedures) {
    procedure.calls = r.number();
    procedure.latency = r.histogram();
    procedure.over_time = get_bins(r);
  }
  const std::size_t reasons = r.count(UINT32_MAX);
  for (std::size_t i = 0; i < reasons && !r.failed(); ++i) {
    std::string reason = r.text(kMostText);
    const std::uint64_t count = r.number();
    // In order, so that each tally has one form.
    if (!s.reasons.empty() && s.reasons.rbegin()->first >= reason) r.fail();
    s.reasons.emplace(std::move(reason), count);
  }
  if (!r.failed()) {
    if (auto tally = load::Tally::restore(std::move(s))) return std::move(*tally);
  }
  r.fail();
  return {};
}

base::Expected<void> check_version(ByteReader& r, std::string_view magic, const char* what) {
  if (!r.magic(magic)) return base::fail(fmt::format("no {} of a load", what));
  const std::uint64_t version = r.number();
  if (r.failed() || version != kVersion) {
    return base::fail(
        fmt::format("{} of a load in version {}, and this program reads version {}: run the same "
                    "rpcrdma everywhere",
                    what, version, kVersion));
  }
  return {};
}

}  // namespace

std::vector<std::uint8_t> encode(const Results& results) {
  ByteWriter w;
  w.magic(kMagic);
  w.number(kVersion);
  w.number(results.rows.size());
  for (const Row& row : results.rows) put(w, row);
  w.number(results.rounds.size());
  for (const RoundTime& round : results.rounds) {
    w.number(round.round);
    w.signed_number(round.start);
  }
  put(w, results.tally.state());
  w.histogram(results.latency);
  w.number(results.latency_over_time.shift());
  w.number(results.latency_over_time.windows().size());
  for (const auto& window : results.latency_over_time.windows()) w.histogram(window.expanded());
  return w.take();
}

base::Expected<Results> decode(std::span<const std::uint8_t> bytes) {
  if (bytes.size() > kMostEncoded) return base::fail("results of a load: too long");
  ByteReader r(bytes);
  if (auto version = check_version(r, kMagic, "results"); !version) {
    return tl::unexpected(version.error());
  }
  Results results;
  const std::size_t rows = r.count(kMostRows);
  for (std::size_t i = 0; i < rows && !r.failed(); ++i) {
    Row row = get_row(r);
    if (i != 0 && std::pair(results.rows.back().round, results.rows.back().rank) >=
                      std::pair(row.round, row.rank)) {
      r.fail();
    }
    results.rows.push_back(std::move(row));
  }
  const std::size_t rounds = r.count(kMostRounds);
  for (std::size_t i = 0; i < rounds && !r.failed(); ++i) {
    const std::uint32_t number = r.number32(kMostRounds - 1);
    const Time start = get_time(r);
    if (i != 0 && results.rounds.back().round >= number) r.fail();
    results.rounds.push_back({number, start});
  }
  results.tally = get_tally(r);
  results.latency = r.hdr_histogram();
  results.latency_over_time = get_latency_series(r);
  if (r.failed() || !r.at_end()) {
    return base::fail("results of a load: damaged");
  }
  return results;
}

std::vector<std::uint8_t> encode(const Tick& tick) {
  ByteWriter w;
  w.magic(kTickMagic);
  w.number(kVersion);
  for (const std::uint64_t n :
       {std::uint64_t{tick.rank}, std::uint64_t{tick.round}, tick.index, tick.interval.calls,
        tick.interval.errors, tick.interval.bytes, std::uint64_t{tick.interval.credits},
        std::uint64_t{tick.interval.connections}}) {
    w.number(n);
  }
  w.signed_number(tick.elapsed);
  w.histogram(tick.interval.latency);
  return w.take();
}

base::Expected<Tick> decode_tick(std::span<const std::uint8_t> bytes) {
  ByteReader r(bytes);
  if (auto version = check_version(r, kTickMagic, "an interval"); !version) {
    return tl::unexpected(version.error());
  }
  Tick tick;
  tick.rank = r.number32(kMostRanks - 1);
  tick.round = r.number32(kMostRounds - 1);
  tick.index = r.number(kLongest / fabric::kSecond);
  tick.interval.calls = r.number();
  tick.interval.errors = r.number();
  tick.interval.bytes = r.number();
  tick.interval.credits = r.number32();
  tick.interval.connections = r.number32();
  tick.elapsed = get_time(r);
  tick.interval.latency = r.hdr_histogram();
  if (tick.interval.latency.count() > tick.interval.calls) r.fail();
  if (r.failed() || !r.at_end()) return base::fail("an interval of a load: damaged");
  return tick;
}

}  // namespace rpcrdma::load_ranks
