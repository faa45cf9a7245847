// The real Prometheus scrapes endpoints: in both kinds of histograms, found by the file that
// `rpcrdma ls --sd` keeps. Each test starts its own server, with its own folder and address.
#include "support/background.h"
#include "support/exposition.h"
#include "support/host_tree.h"
#include "support/http_client.h"
#include "support/own_address.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <regex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/metrics/exposer.h>

namespace rpcrdma::e2e {
namespace {

using metrics::testing::Exposition;
using metrics::testing::kPlainText;
using metrics::testing::scrape;
using metrics::testing::Syntax;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint16_t kMetricsPort = 9464;
constexpr std::uint16_t kPrometheusPort = 9090;
// A hang is a failure; a machine may be busy.
constexpr std::chrono::seconds kPatience{90};

// Width of a native bucket.
const double kFactor = std::exp2(1.0 / 8);

// Calls until it returns true; false: it never did.
template <typename Condition>
bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

enum class Histograms { kNative, kClassic };

// A Prometheus server, which scrapes each second.
class Prometheus {
 public:
  // `jobs`: the entries of scrape_configs. `address`: own to it.
  Prometheus(std::string address, Histograms histograms, const std::string& jobs)
      : address_(std::move(address)) {
    write_file(folder_.file("prometheus.yml"),
               "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n" + jobs);
    std::vector<std::string> options{
        "--config.file=" + folder_.file("prometheus.yml"),
        "--storage.tsdb.path=" + folder_.file("data"),
        fmt::format("--web.listen-address={}:{}", address_, kPrometheusPort)};
    if (histograms == Histograms::kNative) {
      options.emplace_back("--enable-feature=native-histograms");
    }
    process_ = std::make_unique<Background>(options, "", "prometheus");
    is_ready_ = process_->wait_for("Server is ready to receive web requests");
    EXPECT_TRUE(is_ready_) << process_->out;
  }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

  // Returns the samples of an instant query: their labels with their values.
  [[nodiscard]] json samples(const std::string& expression) const {
    write_file(folder_.file("query"), expression);
    const json answer = get("query --data-urlencode query@" + folder_.file("query"));
    EXPECT_EQ(answer.value("status", ""), "success") << expression << answer;
    return answer.contains("data") ? answer["data"]["result"] : json::array();
  }
  // The value of the only sample; NaN if there is none, or several.
  [[nodiscard]] double value(const std::string& expression) const {
    const json all = samples(expression);
    return all.size() == 1 && all[0].contains("value")
               ? std::strtod(all[0]["value"][1].get<std::string>().c_str(), nullptr)
               : NAN;
  }
  // As value(), but waits for it: after a scrape that came too late there is none for a moment.
  [[nodiscard]] double value_soon(const std::string& expression) const {
    double found = NAN;
    EXPECT_TRUE(eventually([&] { return !std::isnan(found = value(expression)); })) << expression;
    return found;
  }
  // Whether it has scraped the only target.
  [[nodiscard]] bool has_scraped() const {
    return eventually([&] { return value("up") == 1; });
  }
  [[nodiscard]] json targets() const {
    const json answer = get("targets?state=active");
    return answer.contains("data") ? answer["data"]["activeTargets"] : json::array();
  }

 private:
  [[nodiscard]] json get(const std::string& what) const {
    return try_parse_json(
        run(fmt::format("curl -sS --get http://{}:{}/api/v1/{}", address_, kPrometheusPort, what))
            .out);
  }

  std::string address_;
  TemporaryFolder folder_;
  std::unique_ptr<Background> process_;
  bool is_ready_ = false;
};

std::string job(const std::string& address) {
  return fmt::format("- {{job_name: rpcrdma, static_configs: [{{targets: ['{}:{}']}}]}}\n", address,
                     kMetricsPort);
}

// Known durations, as the client of an endpoint would have counted them.
class KnownCalls {
 public:
  explicit KnownCalls(const std::string& address) {
    std::mt19937_64 random(39);
    std::lognormal_distribution<double> micros(std::log(80.0), 1.2);
    metrics::Snapshot snapshot;
    service::ClientCounters& counters = snapshot.client.emplace().counters;
    for (int i = 0; i < 50'000; ++i) {
      const auto time = static_cast<fabric::Time>(micros(random) * 1000);
      times_.push_back(time);
      counters.durations.whole.add(time);
    }
    std::ranges::sort(times_);
    auto exposer = metrics::Exposer::open_figures(address, kMetricsPort, [snapshot]() mutable {
      snapshot.taken = base::monotonic_ns();
      return snapshot;
    });
    EXPECT_TRUE(exposer) << exposer.error().message;
    if (exposer) exposer_ = std::move(*exposer);
  }
  // Seconds.
  [[nodiscard]] double quantile(double q) const {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(times_.size())));
    return static_cast<double>(times_.at(rank - 1)) / 1e9;
  }
  [[nodiscard]] double count() const { return static_cast<double>(times_.size()); }

 private:
  std::vector<fabric::Time> times_;
  std::unique_ptr<metrics::Exposer> exposer_;
};

// The bounds of the round bucket that holds a duration, in seconds.
std::pair<double, double> round_bucket(double seconds) {
  double low = 0;
  for (const fabric::Time longest : protocol::RoundDurations::kLongest) {
    const double high = static_cast<double>(longest) / 1e9;
    if (seconds <= high) return {low, high};
    low = high;
  }
  return {low, INFINITY};
}

TEST(PrometheusServer, HasTheSameHistogramInNativeAndClassicBuckets) {
  if (!metrics::Exposer::has_native_histograms()) GTEST_SKIP() << "built without protozero";
  const std::string target = own_address(1);
  const KnownCalls known(target);
  const Prometheus native(own_address(8), Histograms::kNative, job(target));
  const Prometheus classic(own_address(9), Histograms::kClassic, job(target));
  ASSERT_TRUE(native.is_ready() && classic.is_ready());
  const std::string name = "rpcrdma_call_duration_seconds";
  ASSERT_TRUE(native.has_scraped() && classic.has_scraped());
  EXPECT_EQ(native.value_soon("histogram_count(" + name + ")"), known.count());
  EXPECT_EQ(classic.value_soon(name + "_count"), known.count());
  EXPECT_EQ(classic.value_soon(name + R"(_bucket{le="+Inf"})"), known.count());
  EXPECT_DOUBLE_EQ(native.value_soon("histogram_sum(" + name + ")"),
                   classic.value_soon(name + "_sum"));
  // Each Prometheus has one form only.
  EXPECT_THAT(native.samples(name + "_count"), IsEmpty());
  EXPECT_THAT(classic.samples("histogram_count(" + name + ")"), IsEmpty());
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const double truth = known.quantile(q);
    const double by_native = native.value_soon(fmt::format("histogram_quantile({}, {})", q, name));
    const double bucket = std::ceil(std::log2(truth) * 8);
    EXPECT_GE(by_native, std::exp2((bucket - 1) / 8)) << q;
    EXPECT_LE(by_native, std::exp2(bucket / 8)) << q;
    const double by_classic =
        classic.value_soon(fmt::format("histogram_quantile({}, {}_bucket)", q, name));
    const auto [low, high] = round_bucket(truth);
    EXPECT_GE(by_classic, low) << q;
    EXPECT_LE(by_classic, high) << q;
  }
  // How many were up to 100 us: exact in round buckets, within a bucket's share in native ones.
  const double fraction = native.value_soon("histogram_fraction(0, 0.0001, " + name + ")");
  const double truth = classic.value_soon(name + R"(_bucket{le="0.0001"})") / known.count();
  EXPECT_NEAR(fraction, truth, 0.03);
}

// Returns the expression of an alert without its threshold.
std::string alert_expression(const std::string& alert) {
  const std::string rules = read_file(RPCRDMA_PACKAGING "/prometheus/rpcrdma.rules.yml");
  static const std::regex form("- alert: (\\w+)\\n +expr: (.*) > ([0-9.]+)\\n");
  for (std::sregex_iterator at(rules.begin(), rules.end(), form), end; at != end; ++at) {
    if ((*at)[1].str() == alert) return (*at)[2].str();
  }
  return {};
}

TEST(PrometheusServer, SeesAnEndpointUnderLoadInBothForms) {
  if (!metrics::Exposer::has_native_histograms()) GTEST_SKIP() << "built without protozero";
  const std::string server_address = own_address(1), client_address = own_address(2);
  Background server({"serve", "--listen", server_address, "--metrics",
                     fmt::format("{}:{}", server_address, kMetricsPort)});
  ASSERT_TRUE(server.wait_for("metrics at")) << server.out;
  const Prometheus native(own_address(8), Histograms::kNative, job(server_address));
  const Prometheus classic(own_address(9), Histograms::kClassic, job(server_address));
  ASSERT_TRUE(native.is_ready() && classic.is_ready());
  // A rate needs a scrape before the Calls.
  ASSERT_TRUE(native.has_scraped() && classic.has_scraped());
  Background client({"load", server_address, "--from", client_address, "--procedure", "mix",
                     "--rate", "300", "--duration", "5s", "--json"});
  const std::string percentile = alert_expression("RpcrdmaLatencyHigh");
  ASSERT_NE(percentile, "");
  EXPECT_TRUE(eventually([&] { return native.value(percentile) > 0; }));
  EXPECT_TRUE(eventually([&] { return classic.value(percentile) > 0; }));
  ASSERT_EQ(client.finish(), 0) << client.out;
  const double calls = try_parse_json(client.out)["calls"];
  ASSERT_GT(calls, 100);
  const std::string name = "rpcrdma_call_duration_seconds";
  EXPECT_TRUE(eventually([&] { return native.value("histogram_count(" + name + ")") == calls; }));
  EXPECT_TRUE(eventually([&] { return classic.value(name + "_count") == calls; }));
  const Exposition own(scrape(server_address, kMetricsPort, "", kPlainText), Syntax::kText);
  EXPECT_EQ(own[name + R"(_count{role="server"})"], calls);
  // Each form places a quantile in one of its buckets: the truth is in both.
  for (const double q : {0.5, 0.99}) {
    const double by_native = native.value_soon(fmt::format("histogram_quantile({}, {})", q, name));
    const double by_classic =
        classic.value_soon(fmt::format("histogram_quantile({}, {}_bucket)", q, name));
    const auto [low, high] = round_bucket(by_classic);
    EXPECT_GE(by_native * kFactor, low) << q;
    EXPECT_LE(by_native / kFactor, high) << q;
  }
  // By procedure, too.
  EXPECT_EQ(native.value_soon("sum(histogram_count(rpcrdma_procedure_duration_seconds))"), calls);
  EXPECT_EQ(classic.value_soon("sum(rpcrdma_procedure_duration_seconds_count)"), calls);
}

TEST(PrometheusServer, ScrapesByTlsWithAPassword) {
  const std::string target = own_address(1);
  const TemporaryFolder folder;
  ASSERT_EQ(run(fmt::format("cd {} && openssl req -x509 -newkey ec -pkeyopt "
                            "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=metrics "
                            "-addext subjectAltName=IP:{} -keyout key -out crt",
                            folder.path(), target))
                .status,
            0);
  // The hash of "secret".
  write_file(folder.file("web.yml"),
             "tls_server_config: {cert_file: crt, key_file: key}\n"
             "basic_auth_users: {alice: "
             "$2y$04$rGmwTl1.H3BdrGrrw4EjXOt3Y9qcp48TmqNHmS8dLQGFMNlUXh/UO}\n");
  Background server({"serve", "--listen", target, "--metrics",
                     fmt::format("{}:{}", target, kMetricsPort), "--metrics-config",
                     folder.file("web.yml")});
  ASSERT_TRUE(server.wait_for("metrics at https://")) << server.out;
  const Prometheus prometheus(
      own_address(8), Histograms::kClassic,
      fmt::format("- {{job_name: rpcrdma, scheme: https, basic_auth: {{username: alice, password: "
                  "secret}}, tls_config: {{ca_file: {}}}, static_configs: [{{targets: "
                  "['{}:{}']}}]}}\n",
                  folder.file("crt"), target, kMetricsPort));
  ASSERT_TRUE(prometheus.is_ready());
  EXPECT_TRUE(prometheus.has_scraped());
  EXPECT_EQ(prometheus.value_soon("rpcrdma_connections"), 0);
}

TEST(PrometheusServer, ScrapesTheExporterOfAHost) {
  const std::string target = own_address(1);
  const ::rpcrdma::testing::HostTree host;
  host.write_whole_host();
  Background exporter({"exporter", "--listen", fmt::format("{}:{}", target, kMetricsPort), "--proc",
                       host.proc(), "--sys", host.sys()});
  ASSERT_TRUE(exporter.wait_for("metrics at")) << exporter.out;
  // One asks for OpenMetrics, the other first for protobuf, which an exporter of text does not
  // have.
  const Prometheus native(own_address(8), Histograms::kNative, job(target));
  const Prometheus classic(own_address(9), Histograms::kClassic, job(target));
  ASSERT_TRUE(native.is_ready() && classic.is_ready());
  for (const Prometheus* const prometheus : {&native, &classic}) {
    ASSERT_TRUE(prometheus->has_scraped());
    const auto value = [&](const std::string& series) { return prometheus->value_soon(series); };
    EXPECT_EQ(value(R"(rpcrdma_mount_xprt_bad_replies_total{xprt="1"})"), 159);
    EXPECT_EQ(value(R"(rpcrdma_mount_operation_queue_seconds_total{operation="READ"})"), 76.001);
    EXPECT_EQ(value(R"(rpcrdma_svcrdma_recv_total)"), 4711);
    EXPECT_EQ(value(R"(rpcrdma_device_rnr_naks_total{device="mlx5_0",port="1"})"), 22);
    EXPECT_EQ(value("sum(rpcrdma_exporter_source_up)"), 5);
    // As many as the exporter has: Prometheus dropped none. A scrape that came too late has 0.
    const Exposition own(scrape(target, kMetricsPort, "", kPlainText), Syntax::kText);
    const auto samples = static_cast<double>(own.samples().size());
    EXPECT_TRUE(eventually([&] { return prometheus->value("scrape_samples_scraped") == samples; }));
  }
  // Each scrape reads anew.
  host.write("proc/sys/sunrpc/svc_rdma/rdma_stat_recv", "4712\n");
  EXPECT_TRUE(eventually([&] { return classic.value("rpcrdma_svcrdma_recv_total") == 4712; }));
}

// A panel of the dashboard: its expressions, with the dashboard's variables replaced.
using Panel = std::vector<std::string>;

std::vector<Panel> panels_with_histograms() {
  const json dashboard = json::parse(read_file(RPCRDMA_PACKAGING "/grafana/rpcrdma.json"));
  std::vector<Panel> all;
  for (const json& panel : dashboard["panels"]) {
    if (!panel.contains("targets")) continue;
    Panel expressions;
    for (const json& target : panel["targets"]) {
      std::string e = target["expr"];
      if (e.find("duration_seconds") == std::string::npos) continue;
      e = std::regex_replace(e, std::regex("\\$__rate_interval"), "1m");
      e = std::regex_replace(e, std::regex("\\$(job|host|instance)"), ".*");
      expressions.push_back(e);
    }
    // A heatmap needs one target for each form; elsewhere an expression is for both.
    if (panel["type"] == "heatmap") {
      all.push_back(expressions);
    } else {
      for (const std::string& e : expressions) all.push_back({e});
    }
  }
  std::erase_if(all, [](const Panel& panel) { return panel.empty(); });
  return all;
}

// A panel with a histogram has a curve whatever Prometheus stores.
TEST(PrometheusServer, DrawsTheDashboardsHistogramsInBothForms) {
  if (!metrics::Exposer::has_native_histograms()) GTEST_SKIP() << "built without protozero";
  const std::string server_address = own_address(1), client_address = own_address(2);
  Background server({"serve", "--listen", server_address});
  ASSERT_TRUE(server.wait_for("listening on")) << server.out;
  Background client({"load", server_address, "--from", client_address, "--procedure", "mix",
                     "--rate", "200", "--duration", "80s", "--metrics",
                     fmt::format("{}:{}", client_address, kMetricsPort)});
  const Prometheus native(own_address(8), Histograms::kNative, job(client_address));
  const Prometheus classic(own_address(9), Histograms::kClassic, job(client_address));
  ASSERT_TRUE(native.is_ready() && classic.is_ready());
  const std::vector<Panel> panels = panels_with_histograms();
  EXPECT_GE(panels.size(), 8U);
  for (const Panel& panel : panels) {
    for (const Prometheus* const prometheus : {&native, &classic}) {
      EXPECT_TRUE(eventually([&] {
        return std::ranges::any_of(
            panel, [&](const std::string& e) { return !prometheus->samples(e).empty(); });
      })) << panel.front();
    }
  }
}

TEST(PrometheusServer, FindsEndpointsThatStartAndForgetsThoseThatEnd) {
  const TemporaryFolder runtime;
  ::setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1);
  const std::string file = runtime.file("targets.json");
  Background discovery({"ls", "--sd", file, "--every", "200ms"});
  ASSERT_TRUE(discovery.wait_for("ls: --sd: 0 targets")) << discovery.out;
  const Prometheus prometheus(
      own_address(8), Histograms::kClassic,
      fmt::format("- {{job_name: rpcrdma, file_sd_configs: [{{files: ['{}']}}]}}\n", file));
  ASSERT_TRUE(prometheus.is_ready());
  EXPECT_THAT(prometheus.targets(), IsEmpty());

  const auto serve = [](int last, const std::string& name) {
    return std::make_unique<Background>(
        std::vector<std::string>{"serve", "--listen", own_address(last), "--name", name,
                                 "--metrics", own_address(last) + ":0"});
  };
  auto first = serve(1, "first");
  const auto second = serve(2, "second");
  ASSERT_TRUE(first->wait_for("metrics at") && second->wait_for("metrics at"));
  ASSERT_TRUE(eventually([&] { return prometheus.value("count(up == 1)") == 2; }))
      << prometheus.targets();
  const json up = prometheus.samples(R"(up{endpoint="first"})");
  ASSERT_EQ(up.size(), 1U);
  const json& labels = up[0]["metric"];
  EXPECT_EQ(labels["job"], "rpcrdma");
  EXPECT_THAT(labels["endpoint_role"].get<std::string>(), HasSubstr(own_address(1)));
  EXPECT_THAT(labels["instance"].get<std::string>(), HasSubstr(own_address(1) + ":"));
  EXPECT_NE(labels["host"], "");
  EXPECT_NE(labels["process"], "");
  // The labels of the metrics themselves keep their names.
  EXPECT_EQ(prometheus.value_soon(R"(rpcrdma_calls_total{endpoint="first",role="server"})"), 0);

  first->signal(SIGINT);
  EXPECT_EQ(first->finish(), 0) << first->out;
  EXPECT_TRUE(eventually([&] { return prometheus.targets().size() == 1; })) << prometheus.targets();
  EXPECT_EQ(prometheus.targets()[0]["labels"]["endpoint"], "second");
  // Its series end at once, instead of five minutes later.
  EXPECT_TRUE(eventually([&] { return prometheus.samples("up").size() == 1; }));
  // One that is killed leaves its files behind.
  second->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return prometheus.targets().empty(); })) << prometheus.targets();

  discovery.signal(SIGTERM);
  EXPECT_EQ(discovery.finish(), 0) << discovery.out;
  EXPECT_EQ(json::parse(read_file(file)), json::array());
}

}  // namespace
}  // namespace rpcrdma::e2e
