// `rpcrdma exporter` as its users run it; its alert rules, its dashboard and its unit.
#include "support/background.h"
#include "support/exposition.h"
#include "support/host_tree.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <csignal>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using metrics::testing::Exposition;
using metrics::testing::kPlainText;
using metrics::testing::scrape;
using metrics::testing::Syntax;
using nlohmann::json;
using ::rpcrdma::testing::HostTree;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

const std::string kHostRules = RPCRDMA_PACKAGING "/prometheus/rpcrdma-host.rules.yml";

std::string sources(const HostTree& host) {
  return fmt::format("--proc {} --sys {}", host.proc(), host.sys());
}

TEST(ExporterCommand, PromtoolAcceptsTheMetrics) {
  const HostTree host;
  host.write_whole_host();
  const std::string folder = "sys/class/infiniband/irdma0/ports/1/hw_counters/";
  for (const char* const name :
       {"ip4InOctets", "RxECNMrkd", "cnpSent", "tcpRetransSegs", "RxUDP"}) {
    host.write(folder + name, "1\n");
  }
  for (const char* const name :
       {"active_qps", "watermark_qps", "res_oos_drop_count", "resize_cq_cnt"}) {
    host.write("sys/class/infiniband/bnxt_re0/ports/1/hw_counters/" + std::string(name), "1\n");
  }
  const Result r = run(fmt::format("{} exporter --once {} | promtool check metrics",
                                   RPCRDMA_COMMAND, sources(host)));
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out + r.err, "");
}

TEST(ExporterCommand, WithoutAnySourceItServesAndSaysSo) {
  const HostTree nothing;
  const std::string address = own_address(1) + ":9466";
  Background exporter(
      {"exporter", "--listen", address, "--proc", nothing.proc(), "--sys", nothing.sys()});
  // Before anybody has scraped.
  ASSERT_TRUE(exporter.wait_for("metrics at")) << exporter.out;
  EXPECT_THAT(exporter.out, HasSubstr("without devices: " + nothing.sys()));
  const Exposition open(scrape(own_address(1), 9466));
  EXPECT_THAT(open.problems(), IsEmpty());
  EXPECT_EQ(open["rpcrdma_exporter_source_up{source=\"mountstats\"}"], 0);
  EXPECT_GT(open["process_threads"], 0);
  const Exposition text(scrape(own_address(1), 9466, "", kPlainText), Syntax::kText);
  EXPECT_THAT(text.problems(), IsEmpty());
  exporter.signal(SIGTERM);
  EXPECT_EQ(exporter.finish(), 0) << exporter.out;
}

TEST(ExporterCommand, AnAddressThatCannotBeServedIsAnError) {
  for (const char* const address : {"nowhere.invalid:1", "127.0.0.1:99999", "192.0.2.1:9466"}) {
    const Result r = run(fmt::format("{} exporter --listen {}", RPCRDMA_COMMAND, address));
    EXPECT_EQ(r.status, 2) << address;
    EXPECT_THAT(r.err, HasSubstr("rpcrdma: exporter: ")) << address;
  }
}

TEST(ExporterRules, PromtoolAcceptsThem) {
  const Result r = run("promtool check rules " + kHostRules);
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("SUCCESS"));
}

TEST(ExporterRules, EachFiresWhenItShouldAndOnlyThen) {
  const std::string test = RPCRDMA_PACKAGING "/prometheus/rpcrdma-host.rules.test.yml";
  const Result r = run("promtool test rules " + test);
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  const std::string cases = read_file(test);
  const std::string rules = read_file(kHostRules);
  static const std::regex alert("alert: (\\w+)");
  int alerts = 0;
  for (std::sregex_iterator at(rules.begin(), rules.end(), alert), end; at != end; ++at) {
    const std::string name = "alertname: " + (*at)[1].str();
    EXPECT_THAT(cases, HasSubstr(name + "\n        eval_time: 25m\n        exp_alerts: []\n"));
    EXPECT_THAT(cases, HasSubstr(name + "\n        eval_time: 22m\n        exp_alerts:\n"));
    ++alerts;
  }
  EXPECT_GE(alerts, 5);
}

std::set<std::string> names_in(const std::string& text) {
  static const std::regex name("rpcrdma_[a-z_]+");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    names.insert(at->str());
  }
  return names;
}

// promtool parses expressions only in rules, so the dashboard's become some.
TEST(ExporterDashboard, IsUnderstoodAndUsesMetricsThatExist) {
  const HostTree host;
  host.write_whole_host();
  host.write("sys/class/infiniband/rxe0/ports/1/hw_counters/retry_exceeded_err", "1\n");
  const Exposition shown(
      run(fmt::format("{} exporter --once {}", RPCRDMA_COMMAND, sources(host))).out, Syntax::kText);
  std::set<std::string> all;
  for (const auto& [name, type] : shown.types()) all.insert(name);
  ASSERT_GT(all.size(), 100U);
  const json dashboard = json::parse(read_file(RPCRDMA_PACKAGING "/grafana/rpcrdma-host.json"));
  std::string expressions, rules = "groups:\n- name: dashboard\n  rules:\n";
  int n = 0;
  for (const json& panel : dashboard["panels"]) {
    if (panel["type"] == "row") continue;
    ASSERT_FALSE(panel["targets"].empty()) << panel["title"];
    for (const json& target : panel["targets"]) {
      const std::string e = std::regex_replace(target["expr"].get<std::string>(),
                                               std::regex("\\$__rate_interval"), "1m");
      expressions += e + '\n';
      rules += fmt::format("  - record: r{}\n    expr: {}\n", ++n, json(e).dump());
    }
  }
  EXPECT_GE(n, 20);
  for (const json& variable : dashboard["templating"]["list"]) {
    expressions += variable["query"].get<std::string>() + '\n';
  }
  EXPECT_THAT(all, IsSupersetOf(names_in(expressions)));
  std::string without_comments =
      std::regex_replace(read_file(kHostRules), std::regex("#[^\n]*\n"), "\n");
  EXPECT_THAT(all, IsSupersetOf(names_in(without_comments)));
  const TemporaryFolder folder;
  write_file(folder.file("rules.yml"), rules);
  const Result r = run("promtool check rules " + folder.file("rules.yml"));
  EXPECT_EQ(r.status, 0) << r.out << r.err;
}

TEST(ExporterUnit, SystemdAcceptsIt) {
  if (run("command -v systemd-analyze").status != 0) GTEST_SKIP() << "no systemd-analyze";
  const TemporaryFolder folder;
  const std::string unit = folder.file("rpcrdma-exporter.service");
  write_file(unit,
             std::regex_replace(read_file(RPCRDMA_PACKAGING "/systemd/rpcrdma-exporter.service"),
                                std::regex("/usr/bin/rpcrdma"), RPCRDMA_COMMAND));
  const Result r = run("systemd-analyze verify --man=no " + unit);
  EXPECT_EQ((r.out + r.err).find("rpcrdma-exporter.service:"), std::string::npos) << r.out << r.err;
}

}  // namespace
}  // namespace rpcrdma::e2e
