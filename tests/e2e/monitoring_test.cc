// The alert rules and the dashboard in packaging/: promtool accepts and tests the rules, and every
// metric that they use is one that endpoints serve.
#include "support/background.h"
#include "support/exposition.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <regex>
#include <set>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using metrics::testing::Exposition;
using metrics::testing::kPlainText;
using metrics::testing::scrape;
using metrics::testing::Syntax;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const std::string kRules = RPCRDMA_PACKAGING "/prometheus/rpcrdma.rules.yml";

// Returns the names of metrics in expressions, without the endings of a histogram's samples.
std::set<std::string> metrics_in(const std::string& text) {
  static const std::regex name("(rpcrdma|process)_[a-z_]+");
  static const std::regex ending("_(bucket|sum|count)$");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    names.insert(std::regex_replace(at->str(), ending, ""));
  }
  return names;
}

// What a server and a client serve, by docs/metrics.md, which a test of the metrics keeps true.
std::set<std::string> documented() {
  std::set<std::string> names;
  const std::string docs = read_file(RPCRDMA_TEST_DOCS "/metrics.md");
  static const std::regex row("\\n\\| `([a-z_]+)` \\| (counter|gauge|histogram) ");
  for (std::sregex_iterator at(docs.begin(), docs.end(), row), end; at != end; ++at) {
    names.insert((*at)[1].str());
  }
  return names;
}

TEST(Monitoring, PromtoolAcceptsTheRules) {
  const Result r = run("promtool check rules " + kRules);
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("SUCCESS"));
}

TEST(Monitoring, EachRuleFiresWhenItShouldAndOnlyThen) {
  const std::string test = RPCRDMA_PACKAGING "/prometheus/rpcrdma.rules.test.yml";
  const Result r = run("promtool test rules " + test);
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  // Each has a case in which it fires, and one in which it does not.
  const std::string cases = read_file(test);
  const std::string rules = read_file(kRules);
  static const std::regex alert("alert: (\\w+)");
  for (std::sregex_iterator at(rules.begin(), rules.end(), alert), end; at != end; ++at) {
    const std::string name = (*at)[1].str();
    EXPECT_THAT(cases, HasSubstr("alertname: " + name +
                                 "\n        eval_time: 25m\n"
                                 "        exp_alerts: []\n"));
    EXPECT_THAT(cases, HasSubstr("alertname: " + name +
                                 "\n        eval_time: 22m\n"
                                 "        exp_alerts:\n          - exp_labels:\n"));
  }
}

TEST(Monitoring, RulesAndDashboardUseMetricsThatExist) {
  const std::set<std::string> all = documented();
  ASSERT_GT(all.size(), 40U);
  EXPECT_THAT(all, IsSupersetOf(metrics_in(read_file(kRules))));
  const json dashboard = json::parse(read_file(RPCRDMA_PACKAGING "/grafana/rpcrdma.json"));
  std::string expressions;
  std::size_t panels = 0;
  for (const json& panel : dashboard["panels"]) {
    if (panel["type"] == "row") continue;
    ++panels;
    ASSERT_FALSE(panel["targets"].empty()) << panel["title"];
    for (const json& target : panel["targets"]) {
      expressions += target["expr"].get<std::string>() + '\n';
    }
  }
  EXPECT_GE(panels, 20U);
  const std::set<std::string> used = metrics_in(expressions);
  EXPECT_GE(used.size(), 25U);
  EXPECT_THAT(all, IsSupersetOf(used));
  for (const json& variable : dashboard["templating"]["list"]) {
    EXPECT_THAT(all, IsSupersetOf(metrics_in(variable["query"].get<std::string>())));
  }
}

// promtool parses expressions only in rules, so the dashboard's become some.
TEST(Monitoring, PrometheusUnderstandsTheDashboard) {
  const json dashboard = json::parse(read_file(RPCRDMA_PACKAGING "/grafana/rpcrdma.json"));
  std::string rules = "groups:\n- name: dashboard\n  rules:\n";
  int n = 0;
  for (const json& panel : dashboard["panels"]) {
    if (panel["type"] == "row") continue;
    for (const json& target : panel["targets"]) {
      const std::string expression = std::regex_replace(target["expr"].get<std::string>(),
                                                        std::regex("\\$__rate_interval"), "1m");
      rules += fmt::format("  - record: r{}\n    expr: {}\n", ++n, json(expression).dump());
    }
  }
  const TemporaryFolder folder;
  write_file(folder.file("rules.yml"), rules);
  const Result r = run("promtool check rules " + folder.file("rules.yml"));
  EXPECT_EQ(r.status, 0) << r.out << r.err;
}

// A selector of the rules or the dashboard with a label that no series has would match nothing.
TEST(Monitoring, LabelsOfTheRulesExist) {
  Background server({"serve", "--listen", own_address(1), "--metrics", own_address(1) + ":9464"});
  ASSERT_TRUE(server.wait_for("metrics at"));
  const Exposition e(scrape(own_address(1), 9464, "", kPlainText), Syntax::kText);
  ASSERT_FALSE(e.samples().empty());
  const auto has = [&](const std::string& start, const std::string& part) {
    for (const auto& [series, value] : e.samples()) {
      if (series.starts_with(start + "{") && series.find(part) != std::string::npos) return true;
    }
    return false;
  };
  for (const std::string part : {"class=\"rdma_error\"", "class=\"violation\"",
                                 "class=\"rpc_error\"", "class=\"failure\""}) {
    EXPECT_TRUE(has("rpcrdma_errors_total", part)) << part;
  }
  EXPECT_TRUE(has("rpcrdma_acknowledgements_total", "kind=\"RNR\""));
  EXPECT_TRUE(has("rpcrdma_packets_total", "direction=\"out\""));
  EXPECT_TRUE(has("rpcrdma_connections_closed_total", "reason=\"protocol\""));
  EXPECT_TRUE(has("rpcrdma_packets_retransmitted_total", "role=\"server\""));
}

}  // namespace
}  // namespace rpcrdma::e2e
