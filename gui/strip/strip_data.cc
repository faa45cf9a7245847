#include "strip_data.h"

#include <algorithm>
#include <string_view>

namespace rpcrdma::gui {

namespace {

constexpr std::size_t kMostMarks = 4000;  // more than pixels

// The time of a place: of its message, or else of the first message that ends after its frame.
std::int64_t time_of(const index::Content& c, const index::FoundKind::Place& place) {
  if (place.message != 0 && place.message <= c.rows.size())
    return c.rows[place.message - 1].time_ns;
  std::uint64_t low = 0;
  std::uint64_t high = c.rows.size();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (c.rows[middle].frame < place.frame) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < c.rows.size() ? c.rows[low].time_ns : c.last_ns;
}

// The worst findings first, so that they are never the ones that are left out.
void add_findings(const index::Content& c, StripData& data) {
  for (const auto severity :
       {rules::Severity::kError, rules::Severity::kWarning, rules::Severity::kNote}) {
    for (const index::FoundKind& kind : c.kinds) {
      if (kind.severity != severity) continue;
      for (const index::FoundKind::Place& place : kind.places) {
        if (data.marks.size() == kMostMarks) break;
        if (place.message == 0 && place.frame == 0) continue;
        data.marks.push_back({time_of(c, place), place.message, severity, kind.rule->name});
      }
      const std::string_view name = kind.rule->name;
      if (name != "STALL" && name != "CREDIT-STARVED") continue;
      for (const rules::Span& s : kind.spans) {
        if (s.since_ns == 0) continue;
        data.stalls.push_back({s.since_ns, s.until_ns != 0 ? s.until_ns : c.last_ns});
      }
    }
  }
  std::reverse(data.marks.begin(), data.marks.end());
}

void add_credits(const index::Content& c, std::uint32_t connection, std::int64_t from_ns,
                 std::int64_t to_ns, int columns, StripData& data) {
  const index::ConnectionInfo* const info = c.connection(connection);
  const std::size_t slot =
      std::size_t{c.canonical(connection)} * 2 + (info != nullptr ? info->client : 0);
  if (slot >= c.credits.size() || c.credits[slot] == nullptr) return;
  data.credits = c.credits[slot]->columns(from_ns, to_ns, static_cast<std::size_t>(columns));
  for (const index::CreditSpan& s : data.credits) {
    if (!s.any) continue;
    data.most_in_flight = std::max(data.most_in_flight, s.in_use_max);
    data.most_allowed = std::max(data.most_allowed, allowed(s));
  }
}

}  // namespace

StripData strip_data(const index::Content& content, std::optional<std::uint32_t> connection,
                     std::int64_t from_ns, std::int64_t to_ns, int columns) {
  StripData data;
  const auto& series = content.activity;
  if (!series.empty()) {
    const std::int64_t width = series.width_ns();
    for (std::int64_t n = series.first(); n <= series.last(); ++n) {
      const index::ActivityBin& from = series.bin(n);
      StripData::Bin& bin = data.bins.emplace_back();
      bin.from_ns = n * width;
      bin.to_ns = bin.from_ns + width;
      bin.calls = from.calls;
      bin.per_second = static_cast<double>(from.calls) * 1e9 / static_cast<double>(width);
      bin.no_credit = from.no_credit;
      data.most_per_second = std::max(data.most_per_second, bin.per_second);
    }
  }
  add_findings(content, data);
  if (connection && to_ns > from_ns && columns > 0) {
    add_credits(content, *connection, from_ns, to_ns, columns, data);
  }
  return data;
}

}  // namespace rpcrdma::gui
