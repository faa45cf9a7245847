// Expected texts derived by hand from the specification: OpenMetrics 1.0, "Text format".
#include "openmetrics.h"

#include <limits>

#include <gtest/gtest.h>

namespace rpcrdma::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Label = ClientMetric::Label;

ClientMetric counter(std::vector<Label> labels, double value) {
  ClientMetric m;
  m.label = std::move(labels);
  m.counter.value = value;
  return m;
}

ClientMetric gauge(std::vector<Label> labels, double value) {
  ClientMetric m;
  m.label = std::move(labels);
  m.gauge.value = value;
  return m;
}

std::string text(const std::vector<MetricFamily>& families) {
  return openmetrics(families);
}

TEST(OpenMetrics, NothingIsAnEndOnly) {
  EXPECT_EQ(text({}), "# EOF\n");
}

TEST(OpenMetrics, ACountersFamilyIsNamedWithoutTotalAndItsSamplesWithIt) {
  EXPECT_EQ(text({{"calls_total",
                   "Calls made.",
                   MetricType::Counter,
                   {counter({{"role", "client"}, {"kind", "a"}}, 17),
                    counter({{"role", "server"}, {"kind", "a"}}, 0)}}}),
            "# TYPE calls counter\n"
            "# HELP calls Calls made.\n"
            "calls_total{role=\"client\",kind=\"a\"} 17\n"
            "calls_total{role=\"server\",kind=\"a\"} 0\n"
            "# EOF\n");
  // The sample's name always ends this way.
  EXPECT_EQ(text({{"calls", "Calls.", MetricType::Counter, {counter({}, 1)}}}),
            "# TYPE calls counter\n"
            "# HELP calls Calls.\n"
            "calls_total 1\n"
            "# EOF\n");
}

TEST(OpenMetrics, AUnitIsTheEndOfTheFamilysName) {
  EXPECT_EQ(text({{"sent_bytes_total", "Sent.", MetricType::Counter, {counter({}, 3)}},
                  {"age_seconds", "Age.", MetricType::Gauge, {gauge({}, 0.25)}},
                  {"bytes_in_use", "No unit, which stands elsewhere.", MetricType::Gauge, {}},
                  {"kilobytes", "Nor one.", MetricType::Gauge, {}},
                  {"bytes", "Nor this, which names nothing.", MetricType::Gauge, {}}}),
            "# TYPE sent_bytes counter\n"
            "# UNIT sent_bytes bytes\n"
            "# HELP sent_bytes Sent.\n"
            "sent_bytes_total 3\n"
            "# TYPE age_seconds gauge\n"
            "# UNIT age_seconds seconds\n"
            "# HELP age_seconds Age.\n"
            "age_seconds 0.25\n"
            "# TYPE bytes_in_use gauge\n"
            "# HELP bytes_in_use No unit, which stands elsewhere.\n"
            "# TYPE kilobytes gauge\n"
            "# HELP kilobytes Nor one.\n"
            "# TYPE bytes gauge\n"
            "# HELP bytes Nor this, which names nothing.\n"
            "# EOF\n");
}

TEST(OpenMetrics, AGaugeHasNoSuffix) {
  EXPECT_EQ(text({{"made_total", "Of this name too.", MetricType::Gauge, {gauge({}, -1.5)}}}),
            "# TYPE made_total gauge\n"
            "# HELP made_total Of this name too.\n"
            "made_total -1.5\n"
            "# EOF\n");
}

ClientMetric histogram(std::vector<ClientMetric::Bucket> buckets, std::uint64_t count, double sum) {
  ClientMetric m;
  m.label = {{"role", "client"}};
  m.histogram.bucket = std::move(buckets);
  m.histogram.sample_count = count;
  m.histogram.sample_sum = sum;
  return m;
}

// The bounds are the specification's examples.
TEST(OpenMetrics, AHistogramsBoundsAreCanonicalNumbers) {
  EXPECT_EQ(text({{"wait_seconds",
                   "Waiting.",
                   MetricType::Histogram,
                   {histogram({{0, 0.0},
                               {1, 1e-10},
                               {2, 1e-09},
                               {3, 1e-05},
                               {4, 0.0001},
                               {5, 0.001},
                               {6, 0.1},
                               {7, 0.95},
                               {8, 1.0},
                               {9, 1.7},
                               {10, 10.0},
                               {11, 100000.0},
                               {12, 1e06},
                               {13, 1e10},
                               {14, 1.1e23}},
                              15, 324789.3)}}}),
            "# TYPE wait_seconds histogram\n"
            "# UNIT wait_seconds seconds\n"
            "# HELP wait_seconds Waiting.\n"
            "wait_seconds_bucket{role=\"client\",le=\"0.0\"} 0\n"
            "wait_seconds_bucket{role=\"client\",le=\"1e-10\"} 1\n"
            "wait_seconds_bucket{role=\"client\",le=\"1e-09\"} 2\n"
            "wait_seconds_bucket{role=\"client\",le=\"1e-05\"} 3\n"
            "wait_seconds_bucket{role=\"client\",le=\"0.0001\"} 4\n"
            "wait_seconds_bucket{role=\"client\",le=\"0.001\"} 5\n"
            "wait_seconds_bucket{role=\"client\",le=\"0.1\"} 6\n"
            "wait_seconds_bucket{role=\"client\",le=\"0.95\"} 7\n"
            "wait_seconds_bucket{role=\"client\",le=\"1.0\"} 8\n"
            "wait_seconds_bucket{role=\"client\",le=\"1.7\"} 9\n"
            "wait_seconds_bucket{role=\"client\",le=\"10.0\"} 10\n"
            "wait_seconds_bucket{role=\"client\",le=\"100000.0\"} 11\n"
            "wait_seconds_bucket{role=\"client\",le=\"1e+06\"} 12\n"
            "wait_seconds_bucket{role=\"client\",le=\"1e+10\"} 13\n"
            "wait_seconds_bucket{role=\"client\",le=\"1.1e+23\"} 14\n"
            "wait_seconds_bucket{role=\"client\",le=\"+Inf\"} 15\n"
            "wait_seconds_count{role=\"client\"} 15\n"
            "wait_seconds_sum{role=\"client\"} 324789.3\n"
            "# EOF\n");
}

TEST(OpenMetrics, ABucketWithoutEndIsWrittenOnce) {
  const double endless = std::numeric_limits<double>::infinity();
  EXPECT_EQ(text({{"h", "H.", MetricType::Histogram, {histogram({{2, endless}}, 2, 3)}}}),
            "# TYPE h histogram\n"
            "# HELP h H.\n"
            "h_bucket{role=\"client\",le=\"+Inf\"} 2\n"
            "h_count{role=\"client\"} 2\n"
            "h_sum{role=\"client\"} 3\n"
            "# EOF\n");
}

TEST(OpenMetrics, HelpAndLabelsAreEscaped) {
  EXPECT_EQ(text({{"a",
                   "Say \"no\",\nor C:\\DIR.",
                   MetricType::Gauge,
                   {gauge({{"x", "a \"b\"\n\\c"}, {"y", ""}, {"z", "{,=}#\xc3\xa9"}}, 1)}}}),
            "# TYPE a gauge\n"
            "# HELP a Say \\\"no\\\",\\nor C:\\\\DIR.\n"
            "a{x=\"a \\\"b\\\"\\n\\\\c\",y=\"\",z=\"{,=}#\xc3\xa9\"} 1\n"
            "# EOF\n");
}

// A number with a point or an exponent is a float, and one without an integer; both are allowed.
TEST(OpenMetrics, NumbersAreWhole) {
  const auto written = [](double value) {
    const std::string all = text({{"a", "A.", MetricType::Gauge, {gauge({}, value)}}});
    const std::size_t begin = all.find("\na ") + 3;
    return all.substr(begin, all.find('\n', begin) - begin);
  };
  EXPECT_EQ(written(9007199254740991), "9007199254740991");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(0.0030015), "0.0030015");
  EXPECT_EQ(written(1e-07), "1e-07");
  EXPECT_EQ(written(1e+22), "1e+22");
}

TEST(OpenMetrics, ATypeThatIsNotMadeHereIsLeftOut) {
  EXPECT_EQ(text({{"s", "S.", MetricType::Summary, {gauge({}, 1)}},
                  {"u", "U.", MetricType::Untyped, {gauge({}, 1)}}}),
            "# EOF\n");
}

}  // namespace
}  // namespace rpcrdma::metrics
