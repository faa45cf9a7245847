// Fits lines to the offset of two clocks, within the limits that crossings set.
//
// Limits that one clock explains (offset_limits.h) are cut into pieces of at most the length of a
// stretch. The lines that the limits of a piece permit (offset_lines.h) leave a range for the
// offset near each of its ends; the line between the middles of both has the least bound, and is
// itself permitted. Neighbours share the offset where they meet, so that times keep their order.
#include "offset_limits.h"
#include "offset_lines.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <rpcrdma/ends/clock.h>

namespace rpcrdma::ends {
namespace {

// Times shortly before the first crossing and after the last belong to their stretches, too.
constexpr std::int64_t kMarginNs = 1'000'000;
// So far beyond its ends the map still answers, without a bound.
constexpr std::int64_t kExtrapolatedNs = 1'000'000'000;
// A piece with more limits is halved before single ones are excluded, which reads all each time.
constexpr std::size_t kMostToExclude = 4096;
constexpr int kMostExcluded = 8;
constexpr std::size_t kFewestToHalve = 16;

struct Piece {
  std::size_t begin, end;
  std::int64_t from_ns, until_ns;
  OffsetLines lines;
  // At its beginning, near it, near its end, and at its end.
  std::array<std::int64_t, 4> times{};
  std::array<OffsetRange, 4> ranges{};
  std::array<double, 4> offsets{};
  OffsetRange first{}, last{};  // what is possible at its ends with the offsets near them
};

std::int64_t offset_at(const ClockStretch& stretch, std::int64_t time_ns) {
  const auto since = static_cast<double>(saturating_subtract(time_ns, stretch.from_ns));
  return saturating_add(stretch.offset_ns, saturating_round(since * stretch.drift_ppm * 1e-6));
}

class Fitter {
 public:
  Fitter(std::vector<OffsetLimit>& limits, const ClockOptions& options, ClockMap& map)
      : limits_(limits), options_(options), most_drift_(options.most_drift_ppm * 1e-6), map_(map) {}

  void fit(const Regime& regime) {
    if (!both_directions(regime.begin, regime.end)) {
      one_way(regime);
      return;
    }
    origin_ = {limits_[regime.begin].at_ns, origin_of(regime)};
    pieces_.clear();
    std::size_t begin = regime.begin;
    while (begin < regime.end) {
      const std::size_t end = end_of_piece(begin, regime.end);
      add_piece(begin, end);
      begin = end;
    }
    set_ends();
    draw();
  }

 private:
  bool both_directions(std::size_t begin, std::size_t end) const {
    bool least = false, most = false;
    for (std::size_t i = begin; i < end && !(least && most); ++i) {
      if (limits_[i].standing != Standing::kUsed) continue;
      (limits_[i].at_least ? least : most) = true;
    }
    return least && most;
  }

  std::int64_t origin_of(const Regime& regime) const {
    for (std::size_t i = regime.begin; i < regime.end; ++i) {
      if (limits_[i].standing == Standing::kUsed) return limits_[i].offset_ns;
    }
    return 0;
  }

  // As long as a stretch may be, or longer if there is only one direction in that time.
  std::size_t end_of_piece(std::size_t begin, std::size_t end) const {
    const std::int64_t until = saturating_add(limits_[begin].at_ns, options_.stretch_ns);
    std::size_t at = begin;
    bool least = false, most = false;
    for (; at < end && (limits_[at].at_ns <= until || !(least && most)); ++at) {
      if (limits_[at].standing == Standing::kUsed) (limits_[at].at_least ? least : most) = true;
    }
    while (at < end && limits_[at].at_ns == limits_[at - 1].at_ns) ++at;
    return both_directions(at, end) ? at : end;
  }

  void add_piece(std::size_t begin, std::size_t end) {
    if (!both_directions(begin, end)) {
      withhold(begin, end);
      return;
    }
    const std::span<OffsetLimit> limits(limits_.data() + begin, end - begin);
    OffsetLines lines(limits, origin_, most_drift_);
    if (lines.empty() && limits.size() <= kMostToExclude) exclude(limits, lines);
    if (!lines.empty()) {
      pieces_.push_back({begin,
                         end,
                         limits.front().at_ns,
                         limits.back().at_ns,
                         std::move(lines),
                         {},
                         {},
                         {},
                         {},
                         {}});
      return;
    }
    // No line fits: the drift changes within it, or the clock jumped by little.
    std::size_t middle = begin + limits.size() / 2;
    while (middle < end && limits_[middle].at_ns == limits_[middle - 1].at_ns) ++middle;
    if (limits.size() < kFewestToHalve || middle == end) {
      withhold(begin, end);
      return;
    }
    add_piece(begin, middle);
    add_piece(middle, end);
  }

  // Excludes the limits that fit worst, one by one, until a line fits the others or too many would
  // be excluded; then all are back.
  void exclude(std::span<OffsetLimit> limits, OffsetLines& lines) const {
    std::vector<std::size_t> excluded;
    const std::size_t most = std::min<std::size_t>(kMostExcluded, 1 + limits.size() / 10);
    while (lines.empty() && excluded.size() < most) {
      std::size_t worst = limits.size();
      double least_excess = lines.excess();
      const std::vector<std::size_t> culprits(lines.culprits().begin(), lines.culprits().end());
      for (const std::size_t culprit : culprits) {
        limits[culprit].standing = Standing::kContradicts;
        OffsetLines without(limits, origin_, most_drift_);
        limits[culprit].standing = Standing::kUsed;
        const bool fits = !without.empty();
        if (!fits && (without.culprits().empty() || without.excess() >= least_excess)) continue;
        least_excess = without.excess();
        worst = culprit;
      }
      if (worst == limits.size()) break;
      excluded.push_back(worst);
      limits[worst].standing = Standing::kContradicts;
      lines = OffsetLines(limits, origin_, most_drift_);
    }
    if (!lines.empty()) return;
    for (const std::size_t index : excluded) limits[index].standing = Standing::kUsed;
  }

  void withhold(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) limits_[i].standing = Standing::kWithheld;
  }

  void set_ends() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      if (piece.begin == 0) {
        piece.from_ns = saturating_subtract(piece.from_ns, kMarginNs);
        map_.extends_before = true;
      }
      if (piece.end == limits_.size()) {
        piece.until_ns = saturating_add(piece.until_ns, kMarginNs);
        map_.extends_after = true;
      }
      // Up to the neighbour, to leave no gap.
      if (i + 1 < pieces_.size() && pieces_[i + 1].begin == piece.end) {
        piece.until_ns = pieces_[i + 1].from_ns;
      }
    }
  }

  static double middle(const OffsetRange& range) {
    return range.least + (range.most - range.least) / 2;
  }

  static OffsetRange intersection(const OffsetRange& a, const OffsetRange& b) {
    return {std::max(a.least, b.least), std::min(a.most, b.most)};
  }

  // The lines differ most at the ends of a piece, so its ends have a bound and a line of their own.
  void draw() {
    for (Piece& piece : pieces_) {
      const std::int64_t edge = saturating_subtract(piece.until_ns, piece.from_ns) / 10;
      piece.times = {piece.from_ns, piece.from_ns + edge, piece.until_ns - edge, piece.until_ns};
      for (std::size_t i = 0; i < 4; ++i) piece.ranges[i] = piece.lines.at(piece.times[i]);
      piece.offsets[1] = middle(piece.ranges[1]);
      piece.offsets[2] = middle(piece.ranges[2]);
      piece.first = piece.lines.at(piece.times[0], piece.times[1], piece.offsets[1]);
      piece.last = piece.lines.at(piece.times[3], piece.times[2], piece.offsets[2]);
      piece.offsets[0] = middle(piece.first);
      piece.offsets[3] = middle(piece.last);
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const bool meets_next = i + 1 < pieces_.size() && pieces_[i].end == pieces_[i + 1].begin;
      if (meets_next) connect(pieces_[i], pieces_[i + 1]);
      for (std::size_t part = 0; part < 3; ++part) add_stretch(pieces_[i], part, meets_next);
    }
  }

  void connect(Piece& left, Piece& right) {
    const OffsetRange shared = intersection(left.ranges[3], right.ranges[0]);
    if (shared.least > shared.most) {
      ++map_.jumps;
      return;
    }
    left.ranges[3] = right.ranges[0] = shared;
    const OffsetRange possible = intersection(left.last, right.first);
    if (possible.least <= possible.most) left.offsets[3] = right.offsets[0] = middle(possible);
  }

  void add_stretch(const Piece& piece, std::size_t part, bool meets_next) {
    const std::int64_t from = piece.times[part], until = piece.times[part + 1];
    const bool last = part == 2 && !meets_next;
    if (from == until && !last) return;
    const auto length = static_cast<double>(saturating_subtract(until, from));
    const double begin = piece.offsets[part], end = piece.offsets[part + 1];
    ClockStretch stretch;
    stretch.from_ns = from;
    stretch.until_ns = last ? until : until - 1;
    stretch.offset_ns = saturating_add(origin_.offset_ns, saturating_round(begin));
    stretch.drift_ppm = length > 0 ? (end - begin) / length * 1e6 : 0;
    const double error =
        std::max({error_of(piece.ranges[part], begin), error_of(piece.ranges[part + 1], end), 0.0});
    // Times are whole nanoseconds: rounding adds one.
    stretch.bound_ns = saturating_add(saturating_round(std::ceil(error)), 1);
    map_.stretches.push_back(stretch);
  }

  static double error_of(const OffsetRange& range, double value) {
    return std::max(range.most - value, value - range.least);
  }

  // The fastest message is taken for one that needs no time.
  void one_way(const Regime& regime) {
    const OffsetLimit* best = nullptr;
    for (std::size_t i = regime.begin; i < regime.end; ++i) {
      const OffsetLimit& limit = limits_[i];
      if (limit.standing != Standing::kUsed) continue;
      const bool tighter = best == nullptr || (limit.at_least ? limit.offset_ns > best->offset_ns
                                                              : limit.offset_ns < best->offset_ns);
      if (tighter) best = &limit;
    }
    if (best == nullptr) return;
    ClockStretch stretch;
    stretch.from_ns = limits_[regime.begin].at_ns;
    stretch.until_ns = limits_[regime.end - 1].at_ns;
    stretch.offset_ns = best->offset_ns;
    stretch.one_way = true;
    if (regime.begin == 0) map_.extends_before = true;
    if (regime.end == limits_.size()) map_.extends_after = true;
    map_.stretches.push_back(stretch);
  }

  std::vector<OffsetLimit>& limits_;
  const ClockOptions& options_;
  double most_drift_;
  ClockMap& map_;
  OffsetOrigin origin_;
  std::vector<Piece> pieces_;
};

const ClockStretch* stretch_at(const std::vector<ClockStretch>& stretches, std::int64_t time_ns) {
  const auto after =
      std::partition_point(stretches.begin(), stretches.end(),
                           [&](const ClockStretch& stretch) { return stretch.until_ns < time_ns; });
  return after == stretches.end() || after->from_ns > time_ns ? nullptr : &*after;
}

}  // namespace

std::optional<std::int64_t> ClockMap::to_reference(std::int64_t other_ns) const {
  if (stretches.empty()) return std::nullopt;
  const ClockStretch* stretch = stretch_at(stretches, other_ns);
  if (stretch == nullptr) {
    const ClockStretch& first = stretches.front();
    const ClockStretch& last = stretches.back();
    if (extends_before && other_ns < first.from_ns &&
        saturating_subtract(first.from_ns, other_ns) <= kExtrapolatedNs) {
      stretch = &first;
    } else if (extends_after && other_ns > last.until_ns &&
               saturating_subtract(other_ns, last.until_ns) <= kExtrapolatedNs) {
      stretch = &last;
    } else {
      return std::nullopt;
    }
  }
  return saturating_add(other_ns, offset_at(*stretch, other_ns));
}

std::optional<std::int64_t> ClockMap::bound_at(std::int64_t other_ns) const {
  const ClockStretch* stretch = stretch_at(stretches, other_ns);
  if (stretch == nullptr || stretch->one_way) return std::nullopt;
  return stretch->bound_ns;
}

std::optional<std::int64_t> ClockMap::worst_bound_ns() const {
  std::optional<std::int64_t> worst;
  for (const ClockStretch& stretch : stretches) {
    if (stretch.one_way) return std::nullopt;
    worst = std::max(worst.value_or(0), stretch.bound_ns);
  }
  return worst;
}

std::optional<std::int64_t> ClockMap::usual_bound_ns() const {
  if (!worst_bound_ns()) return std::nullopt;
  std::vector<std::pair<std::int64_t, double>> bounds;  // with the time for which they hold
  double all = 0;
  for (const ClockStretch& stretch : stretches) {
    const auto length =
        static_cast<double>(stretch.until_ns) - static_cast<double>(stretch.from_ns) + 1;
    bounds.emplace_back(stretch.bound_ns, length);
    all += length;
  }
  std::sort(bounds.begin(), bounds.end());
  double within = 0;
  for (const auto& [bound_ns, length] : bounds) {
    within += length;
    if (within >= all * 0.79) return bound_ns;
  }
  return bounds.back().first;
}

ClockMap align(std::span<const Crossing> crossings, const ClockOptions& options) {
  std::vector<OffsetLimit> limits;
  limits.reserve(crossings.size());
  for (const Crossing& crossing : crossings) {
    OffsetLimit limit;
    limit.at_least = crossing.from_reference;
    limit.at_ns = crossing.from_reference ? crossing.received_ns : crossing.sent_ns;
    const std::int64_t reference =
        crossing.from_reference ? crossing.sent_ns : crossing.received_ns;
    limit.offset_ns = saturating_subtract(reference, limit.at_ns);
    limits.push_back(limit);
  }
  std::sort(limits.begin(), limits.end(),
            [](const OffsetLimit& a, const OffsetLimit& b) { return a.at_ns < b.at_ns; });

  ClockMap map;
  map.crossings = crossings.size();
  const Regimes found = find_regimes(limits, options.most_drift_ppm * 1e-6);
  map.jumps = found.jumps;
  Fitter fitter(limits, options, map);
  for (const Regime& regime : found.regimes) fitter.fit(regime);
  for (const OffsetLimit& limit : limits) {
    if (limit.standing == Standing::kContradicts) ++map.contradictions;
  }
  return map;
}

}  // namespace rpcrdma::ends
