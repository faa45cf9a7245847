// Merges reports in the order of time, as a tree: neighbours first. Each report is added to others
// a logarithmic number of times, and as many partial sums are in memory.
#include "addition.h"
#include "merge_order.h"
#include "reconnects_join.h"

#include <new>
#include <optional>
#include <utility>

#include <rpcrdma/base/out_of_memory.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report {

namespace {

std::string json_of(const Report& r) {
  std::string text;
  write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

// Adds up neighbours as a binary counter does: two sums of equally many reports become one.
class Tree {
 public:
  // Takes the next report in the order of time. Returns false if there are too many connections.
  [[nodiscard]] bool add(Report report) {
    sums_.push_back({std::move(report), 0});
    while (sums_.size() > 1 && sums_[sums_.size() - 2].level == sums_.back().level) {
      if (!join_last_two()) return false;
      ++sums_.back().level;
    }
    return true;
  }

  [[nodiscard]] std::optional<Report> finish() {
    while (sums_.size() > 1) {
      if (!join_last_two()) return std::nullopt;
    }
    return sums_.empty() ? Report{} : std::move(sums_.front().report);
  }

 private:
  struct Sum {
    Report report;
    unsigned level = 0;  // of 2^level reports
  };

  bool join_last_two() {
    Sum later = std::move(sums_.back());
    sums_.pop_back();
    return add_later(sums_.back().report, later.report);
  }

  std::vector<Sum> sums_;
};

tl::expected<Report, std::string> too_many_connections() {
  return tl::unexpected(std::string("the reports have too many connections: an ID has 32 bits"));
}

tl::expected<Report, std::string> concluded(std::optional<Report> whole) {
  if (!whole) return too_many_connections();
  bound_begun(whole->reconnects, rules::kBegun);
  conclude(*whole);
  return std::move(*whole);
}

}  // namespace

tl::expected<Report, std::string> merge(std::size_t count, const ReadReport& read,
                                        const std::vector<std::string>& names) try {
  MergeOrder order;
  for (std::size_t i = 0; i < count; ++i) {
    const auto report = read(i);
    if (!report) return tl::unexpected(report.error());
    order.add(*report);
  }
  const auto text = [&](std::size_t i) -> tl::expected<std::string, std::string> {
    const auto report = read(i);
    if (!report) return tl::unexpected(report.error());
    return json_of(*report);
  };
  const auto places = order.places(names, text);
  if (!places) return tl::unexpected(places.error());
  Tree tree;
  for (const std::size_t i : *places) {
    auto report = read(i);
    if (!report) return tl::unexpected(report.error());
    if (!order.matches(i, *report)) {
      return tl::unexpected(MergeOrder::name(names, i) + ": the file changed while it was read");
    }
    if (!tree.add(std::move(*report))) return too_many_connections();
  }
  return concluded(tree.finish());
} catch (const std::bad_alloc&) {
  return tl::unexpected(std::string(base::kOutOfMemory));
}

tl::expected<Report, std::string> merge(std::vector<Report> reports,
                                        const std::vector<std::string>& names) try {
  MergeOrder order;
  for (const Report& r : reports) order.add(r);
  const auto places = order.places(
      names,
      [&](std::size_t i) -> tl::expected<std::string, std::string> { return json_of(reports[i]); });
  if (!places) return tl::unexpected(places.error());
  Tree tree;
  for (const std::size_t i : *places) {
    if (!tree.add(std::move(reports[i]))) return too_many_connections();
  }
  return concluded(tree.finish());
} catch (const std::bad_alloc&) {
  return tl::unexpected(std::string(base::kOutOfMemory));
}

}  // namespace rpcrdma::report
