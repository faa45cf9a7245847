// Requests and their answers, without a connection.
#include "answer.h"

#include "support/http_client.h"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

namespace rpcrdma::metrics {
namespace {

using testing::HttpAnswer;

// One counter, and how often it was collected.
class Figures : public prometheus::Collectable {
 public:
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    ++collected;
    prometheus::ClientMetric m;
    m.counter.value = 7;
    return {{"calls_total", "Calls.", prometheus::MetricType::Counter, {m}}};
  }

  mutable int collected = 0;
};

constexpr const char* kOpenMetricsText =
    "# TYPE calls counter\n"
    "# HELP calls Calls.\n"
    "calls_total 7\n"
    "# EOF\n";
constexpr const char* kText =
    "# HELP calls_total Calls.\n"
    "# TYPE calls_total counter\n"
    "calls_total 7\n";

TEST(Answer, IsOneOfTwoTexts) {
  const Figures figures;
  const HttpAnswer openmetrics(answer({"GET", "/metrics", ""}, figures));
  EXPECT_EQ(openmetrics.status, 200);
  EXPECT_EQ(openmetrics.field("Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(openmetrics.body, kOpenMetricsText);
  EXPECT_EQ(openmetrics.field("Content-Length"), std::to_string(openmetrics.body.size()));
  EXPECT_EQ(openmetrics.field("Connection"), "close");

  const HttpAnswer text(answer({"GET", "/metrics", "text/plain"}, figures));
  EXPECT_EQ(text.status, 200);
  EXPECT_EQ(text.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(text.body, kText);
  EXPECT_EQ(text.field("Content-Length"), std::to_string(text.body.size()));

  // Caches need this field.
  EXPECT_EQ(openmetrics.field("Vary"), "Accept");
  EXPECT_EQ(text.field("Vary"), "Accept");
  EXPECT_EQ(figures.collected, 2);
}

TEST(Answer, ToHeadIsThatToGetWithoutItsBody) {
  const Figures figures;
  const HttpAnswer get(answer({"GET", "/metrics", "*/*"}, figures));
  const HttpAnswer head(answer({"HEAD", "/metrics", "*/*"}, figures));
  EXPECT_EQ(head.fields, get.fields);
  EXPECT_EQ(head.body, "");
}

TEST(Answer, ToAnythingElseIsARefusalThatCollectsNothing) {
  const Figures figures;
  for (const std::string_view method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    const HttpAnswer a(answer({method, "/metrics", ""}, figures));
    EXPECT_EQ(a.status, 405) << method;
    EXPECT_EQ(a.field("Allow"), "GET, HEAD") << method;
    EXPECT_EQ(a.field("Content-Length"), std::to_string(a.body.size())) << method;
  }
  for (const std::string_view path : {"/", "", "/metric", "/metrics/", "/metrics/x", "/Metrics"}) {
    const HttpAnswer a(answer({"GET", path, "text/plain"}, figures));
    EXPECT_EQ(a.status, 404) << path;
    EXPECT_EQ(a.field("Content-Length"), std::to_string(a.body.size())) << path;
    EXPECT_EQ(HttpAnswer(answer({"HEAD", path, ""}, figures)).body, "") << path;
  }
  EXPECT_EQ(figures.collected, 0);
}

void expect_openmetrics(std::string_view accept) {
  EXPECT_EQ(wanted_format(accept), Format::kOpenMetrics) << accept;
}

void expect_text(std::string_view accept) {
  EXPECT_EQ(wanted_format(accept), Format::kText) << accept;
}

TEST(Accept, WhoNamesOpenMetricsGetsIt) {
  expect_openmetrics("application/openmetrics-text");
  expect_openmetrics("Application/OpenMetrics-Text; version=1.0.0");
  expect_openmetrics("text/plain;q=0.9 , application/openmetrics-text;q=0.1");
  // Prometheus 2.
  expect_openmetrics(
      "application/openmetrics-text;version=1.0.0;q=0.5,"
      "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2");
}

TEST(Accept, WhoNamesNeitherGetsOpenMetrics) {
  expect_openmetrics("");
  expect_openmetrics("*/*");
  expect_openmetrics("application/json");
  expect_openmetrics("application/*");
}

TEST(Accept, WhoNamesTextAloneGetsIt) {
  expect_text("text/plain");
  expect_text("TEXT/PLAIN;version=0.0.4");
  expect_text("text/plain;version=0.0.4;q=1,*/*;q=0.1");
  expect_text("text/*");
  // A browser.
  expect_text("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
}

TEST(Accept, WhatIsRefusedIsNotNamed) {
  expect_text("application/openmetrics-text;q=0");
  expect_text("application/openmetrics-text; version=1.0.0 ;\tQ=0.000 , */*");
  expect_text("application/openmetrics-text;q=0,text/plain;q=0.1");
  expect_openmetrics("text/plain;q=0");
  expect_openmetrics("text/plain;q=0.0, */*");
  expect_openmetrics("application/openmetrics-text;q=0.001,text/plain");
  expect_openmetrics("application/openmetrics-text;q=0,application/openmetrics-text;q=1");
}

TEST(Accept, WhatIsNoListOfTypesHarmsNobody) {
  for (const std::string_view odd :
       {",", ";", "=", " ", "\t,;=", ",,,;;;===", "q=0", ";q=0", "text", "text/", "/plain",
        "text/plainly", "xtext/plain", "text/plain\xff", "application/openmetrics-text;q="}) {
    expect_openmetrics(odd);
  }
  expect_text("text/plain;q");
  expect_text("text/plain;;;,,,");
  expect_openmetrics(std::string(100'000, ','));
}

}  // namespace
}  // namespace rpcrdma::metrics
