#include "refused_text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::report {

namespace {

constexpr std::size_t kKindsNamed = 2;

struct Kind {
  std::uint64_t count = 0, of = 0;
  std::string_view clause;
};

bool is_listed(const Finding& f) {
  return f.of != 0 && (f.rule == rules::rule(rules::RuleId::kCallRefused).name ||
                       f.rule == rules::rule(rules::RuleId::kNfsStatus).name);
}

}  // namespace

std::string refused_text(const Report& report) {
  std::map<std::string_view, Kind> by_clause;
  for (const Finding& f : report.findings) {
    if (!is_listed(f)) continue;
    Kind& kind = by_clause[rules::without_share(f.text)];
    kind.count += f.count;
    kind.of += f.of;
  }
  std::vector<Kind> kinds;
  for (auto& [clause, kind] : by_clause) {
    kind.clause = clause;
    kinds.push_back(kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind& a, const Kind& b) { return a.count > b.count; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kinds.size(), kKindsNamed); ++i) {
    if (i != 0) text += ". ";
    text += rules::with_share(kinds[i].count, kinds[i].of, kinds[i].clause);
  }
  if (kinds.size() > kKindsNamed) {
    text += fmt::format(". {} more kind{} of refused Calls", kinds.size() - kKindsNamed,
                        kinds.size() - kKindsNamed == 1 ? "" : "s");
  }
  return text;
}

}  // namespace rpcrdma::report
