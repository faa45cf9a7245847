// The numbers of the overview with their course over time.
#include "overview_model.h"
#include "words.h"

#include <algorithm>

#include <rpcrdma/report/latency_table.h>

namespace rpcrdma::gui {

namespace {

using report::Report;
using report::TrafficBin;
using Course = OverviewTile::Line::Kind;

// Live rates are those of the last seconds.
constexpr std::int64_t kRecentNs = 10'000'000'000;

template <typename Bin, typename Value>
OverviewTile::Line line_of(const report::Series<Bin>& series, Course kind, const QString& name,
                           Value value) {
  OverviewTile::Line line{.kind = kind, .name = name, .values = {}};
  for (std::int64_t n = series.first(); n <= series.last(); ++n) {
    line.values.push_back(static_cast<double>(value(series.bin(n))));
  }
  return line;
}

template <typename Bin>
void set_time(OverviewTile& tile, const report::Series<Bin>& series) {
  if (series.empty()) return;
  tile.from_ns = series.first() * series.width_ns();
  tile.to_ns = (series.last() + 1) * series.width_ns();
}

template <typename Value>
std::uint64_t sum_of(const report::TrafficSeries& series, Value value) {
  std::uint64_t sum = 0;
  for (std::int64_t n = series.first(); n <= series.last(); ++n) sum += value(series.bin(n));
  return sum;
}

QString rate_text(double rate) {
  return QString("%L1").arg(rate, 0, 'f', rate < 10 ? 1 : 0);
}

QString calls_text(std::uint64_t calls) {
  return calls == 1 ? Words::tr("1 Call") : Words::tr("%L1 Calls").arg(calls);
}

OverviewTile rate_tile(const Report& r, bool growing) {
  OverviewTile tile{.title = Words::tr("Calls/s"), .value = "-", .note = {}};
  const auto& t = r.traffic;
  const std::uint64_t calls = sum_of(t, [](const TrafficBin& b) { return b.calls; });
  const std::int64_t length = r.capture.last_ns - r.capture.first_ns;
  const QString all = calls_text(calls);
  if (growing && !t.empty() && length > kRecentNs) {
    const std::int64_t bins = std::max<std::int64_t>(1, kRecentNs >> t.shift());
    // The last bin is not over.
    const std::int64_t to = std::max(t.first(), t.last() - 1);
    const std::int64_t from = std::max(t.first(), to - bins + 1);
    std::uint64_t recent = 0;
    for (std::int64_t n = from; n <= to; ++n) recent += t.bin(n).calls;
    const double seconds = static_cast<double>((to - from + 1) * t.width_ns()) / 1e9;
    tile.value = rate_text(static_cast<double>(recent) / seconds);
    tile.note = Words::tr("last %1 s; %2 in all").arg(seconds, 0, 'f', 0).arg(all);
  } else if (length > 0) {
    tile.value = rate_text(static_cast<double>(calls) * 1e9 / static_cast<double>(length));
    tile.note = Words::tr("on average; %1").arg(all);
  } else {
    tile.note = all;
  }
  const double seconds = static_cast<double>(t.width_ns()) / 1e9;
  tile.lines.push_back(
      line_of(t, Course::kMain, Words::tr("Calls/s"),
              [seconds](const TrafficBin& b) { return static_cast<double>(b.calls) / seconds; }));
  set_time(tile, t);
  return tile;
}

OverviewTile latency_tile(const Report& r) {
  OverviewTile tile{
      .title = Words::tr("Latency p50 / p99"), .value = "-", .note = {}, .lines = {}, .log = true};
  base::Histogram all;
  for (const auto& [key, p] : r.procedures) {
    if (!key.reverse) all.merge(p.total);
  }
  if (all.count() == 0) {
    tile.note = Words::tr("no Call was answered");
    return tile;
  }
  const auto p99 = report::given_quantile(all, 0.99);
  if (!p99) tile.title = Words::tr("Latency p50 / max");
  tile.value = QString("%1 / %2").arg(Words::duration(all.quantile(0.5)),
                                      Words::duration(p99.value_or(all.max())));
  const QString observer = observer_of(r);
  tile.note = calls_text(all.count());
  if (!observer.isEmpty()) tile.note = observer + "; " + tile.note;
  tile.lines.push_back(line_of(r.traffic, Course::kSecond, Words::tr("p99"),
                               [](const TrafficBin& b) { return b.latency_quantile(0.99); }));
  tile.lines.push_back(line_of(r.traffic, Course::kMain, Words::tr("p50"),
                               [](const TrafficBin& b) { return b.latency_quantile(0.5); }));
  set_time(tile, r.traffic);
  return tile;
}

// The connection that came closest to its grant, or exceeded it.
OverviewTile credits_tile(const Report& r) {
  OverviewTile tile{
      .title = Words::tr("Credits in use"), .value = "-", .note = Words::tr("no grant seen")};
  const report::Connection* worst = nullptr;
  double most = -1;
  for (const report::Connection& c : r.connections) {
    const report::Direction& d = c.direction[0];
    if (!d.granted_known || d.granted_max == 0) continue;
    const double share = static_cast<double>(d.in_use_max) /
                         static_cast<double>(std::max<std::uint32_t>(1, d.granted_min));
    if (share > most) {
      most = share;
      worst = &c;
    }
  }
  if (worst == nullptr) return tile;
  const report::Direction& d = worst->direction[0];
  tile.value =
      d.granted_min == d.granted_max
          ? Words::tr("%L1 of %L2").arg(d.in_use_max).arg(d.granted_max)
          : Words::tr("%L1 of %L2 to %L3").arg(d.in_use_max).arg(d.granted_min).arg(d.granted_max);
  tile.note = r.connections.size() == 1 ? Words::tr("at most, of those granted")
                                        : Words::tr("at most, connection %1").arg(worst->id);
  for (const report::ConnectionCredits& c : r.credits) {
    if (c.connection != worst->id) continue;
    const report::CreditSeries& series = c.direction[0];
    tile.lines.push_back(line_of(series, Course::kLimit, Words::tr("granted"),
                                 [](const report::CreditBin& b) { return b.granted_min; }));
    // A bin without a Reply has no grant: the one before holds.
    double last = static_cast<double>(d.granted_max);
    for (double& value : tile.lines.back().values) {
      if (value == 0) value = last;
      last = value;
    }
    tile.lines.push_back(line_of(series, Course::kMain, Words::tr("in use"),
                                 [](const report::CreditBin& b) { return b.in_use_max; }));
    set_time(tile, series);
  }
  return tile;
}

OverviewTile bytes_tile(const Report& r) {
  OverviewTile tile{.title = Words::tr("Bytes by chunks"), .value = "-", .note = {}};
  std::array<std::uint64_t, 3> moved{};
  for (const report::Connection& c : r.connections) {
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += c.chunk_bytes[i];
  }
  const std::uint64_t in_line =
      sum_of(r.traffic, [](const TrafficBin& b) { return b.inline_bytes; });
  const std::uint64_t sum = moved[0] + moved[1] + moved[2];
  if (r.recording.only_kernel() && sum == 0) {
    tile.note = Words::tr("the source does not show them");
    return tile;
  }
  tile.value = Words::bytes(sum);
  const std::array<QString, 3> names{Words::tr("Read %1"), Words::tr("Write %1"),
                                     Words::tr("Reply %1")};
  QStringList parts;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] != 0) parts << names[i].arg(Words::bytes(moved[i]));
  }
  parts << Words::tr("inline %1").arg(Words::bytes(in_line));
  tile.note = parts.join(", ");
  tile.lines.push_back(line_of(r.traffic, Course::kMain, Words::tr("RDMA Read"),
                               [](const TrafficBin& b) { return b.read_bytes; }));
  tile.lines.push_back(line_of(r.traffic, Course::kSecond, Words::tr("RDMA Write"),
                               [](const TrafficBin& b) { return b.write_bytes; }));
  set_time(tile, r.traffic);
  return tile;
}

OverviewTile retransmissions_tile(const Report& r) {
  OverviewTile tile{.title = Words::tr("Retransmitted packets"), .value = "-", .note = {}};
  const bool seen =
      std::any_of(r.connections.begin(), r.connections.end(),
                  [](const report::Connection& c) { return !c.lacks(roce::kAbsentRefusals); });
  if (!seen || r.recording.only_kernel()) {
    tile.note = r.connections.empty() ? Words::tr("no connection")
                                      : Words::tr("the source does not show them");
    return tile;
  }
  const roce::PacketStats& p = r.capture.packets;
  tile.value = QString("%L1").arg(p.retransmitted);
  const std::uint64_t packets = p.roce + p.iwarp;
  if (packets != 0) {
    tile.note = Words::tr("%1 %; ").arg(
        100.0 * static_cast<double>(p.retransmitted) / static_cast<double>(packets), 0, 'f', 1);
  }
  tile.note += Words::tr("%L1 NAK, %L2 RNR NAK").arg(p.nak).arg(p.rnr);
  tile.lines.push_back(line_of(r.traffic, Course::kBad, Words::tr("retransmitted"),
                               [](const TrafficBin& b) { return b.retransmitted; }));
  set_time(tile, r.traffic);
  return tile;
}

}  // namespace

std::vector<OverviewTile> overview_tiles(const Report& r, bool growing) {
  return {rate_tile(r, growing), latency_tile(r), credits_tile(r), bytes_tile(r),
          retransmissions_tile(r)};
}

}  // namespace rpcrdma::gui
