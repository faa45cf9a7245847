#include "merge_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/core.h>

namespace rpcrdma::report {

namespace {

std::string filter_name(const std::string& filter) {
  return filter.empty() ? std::string("none") : fmt::format("\"{}\"", filter);
}

}  // namespace

std::string MergeOrder::name(const std::vector<std::string>& names, std::size_t number) {
  return number < names.size() ? names[number] : fmt::format("report {}", number + 1);
}

MergeOrder::Entry MergeOrder::entry_of(const Report& r, std::size_t filter) const {
  return {r.capture.frames, r.capture.first_ns, r.capture.last_ns,
          r.connection_ids, r.profile,          filter};
}

void MergeOrder::add(const Report& report) {
  auto filter = std::find(filters_.begin(), filters_.end(), report.filter);
  // Two filters are enough to refuse the merge.
  if (filter == filters_.end() && filters_.size() < 2) {
    filter = filters_.insert(filter, report.filter);
  }
  const auto index = static_cast<std::size_t>(filter - filters_.begin());
  entries_.push_back(entry_of(report, index));
  overlaps_.add(report);
}

bool MergeOrder::matches(std::size_t number, const Report& report) const {
  const Entry& entry = entries_[number];
  return entry == entry_of(report, entry.filter) && report.filter == filters_[entry.filter];
}

std::string MergeOrder::other_settings() const {
  for (const Entry& e : entries_) {
    if (e.profile != entries_.front().profile) return "the reports have different profiles";
  }
  if (filters_.size() < 2) return {};
  return fmt::format("the reports have different filters: {} and {}", filter_name(filters_[0]),
                     filter_name(filters_[1]));
}

tl::expected<std::vector<std::size_t>, std::string> MergeOrder::places(
    const std::vector<std::string>& names, const Text& text) const {
  if (std::string why = overlaps_.find(names); !why.empty()) return tl::unexpected(std::move(why));
  if (std::string why = other_settings(); !why.empty()) return tl::unexpected(std::move(why));
  // A report without frames has no time; its place in the order changes nothing.
  const auto when = [&](std::size_t i) {
    const Entry& e = entries_[i];
    return std::tuple(e.frames == 0, e.first_ns, e.last_ns, e.frames);
  };
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(when(a), a) < std::tuple(when(b), b);
  });
  // Reports of the same time are ordered by their contents, so that the order of the arguments does
  // not matter.
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin + 1, order.end(),
                                  [&](std::size_t i) { return when(i) != when(*begin); });
    if (end - begin > 1) {
      std::vector<std::pair<std::string, std::size_t>> alike;
      for (auto at = begin; at != end; ++at) {
        auto contents = text(*at);
        if (!contents) return tl::unexpected(contents.error());
        alike.emplace_back(std::move(*contents), *at);
      }
      std::sort(alike.begin(), alike.end());
      for (std::size_t i = 0; i < alike.size(); ++i) {
        *(begin + static_cast<std::ptrdiff_t>(i)) = alike[i].second;
        // Synthetic reports without times are no captures.
        if (i == 0 || entries_[*begin].frames == 0) continue;
        if (alike[i].first == alike[i - 1].first) {
          return tl::unexpected(
              fmt::format("{} and {} are the same report, and its Calls would count twice",
                          name(names, alike[i - 1].second), name(names, alike[i].second)));
        }
      }
    }
    begin = end;
  }
  return order;
}

}  // namespace rpcrdma::report
