// Requests and their answers, without a connection.
#include "answer.h"

#include "protobuf.h"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

namespace rpcrdma::metrics {
namespace {

// One counter, and how often it was collected.
struct Figures {
  Collect collect = [this] {
    ++collected;
    prometheus::ClientMetric m;
    m.counter.value = 7;
    return std::make_shared<const Collected>(
        Collected{{{"calls_total", "Calls.", prometheus::MetricType::Counter, {m}}}});
  };
  int collected = 0;
};

constexpr const char* kProtobuf =
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

constexpr const char* kOpenMetricsText =
    "# TYPE calls counter\n"
    "# HELP calls Calls.\n"
    "calls_total 7\n"
    "# EOF\n";
constexpr const char* kText =
    "# HELP calls_total Calls.\n"
    "# TYPE calls_total counter\n"
    "calls_total 7\n";

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(const HttpResponse& response) {
  return {response.fields.begin(), response.fields.end()};
}

TEST(Answer, IsInTheFormatThatTheRequestNames) {
  Figures figures;
  const HttpResponse openmetrics =
      answer({"GET", "/metrics", "application/openmetrics-text"}, figures.collect);
  EXPECT_EQ(openmetrics.status, 200U);
  EXPECT_EQ(openmetrics.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(openmetrics.body, kOpenMetricsText);

  const HttpResponse text = answer({"GET", "/metrics", "text/plain"}, figures.collect);
  EXPECT_EQ(text.status, 200U);
  EXPECT_EQ(text.type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(text.body, kText);

  const HttpResponse binary = answer({"GET", "/metrics", kProtobuf}, figures.collect);
  EXPECT_EQ(binary.status, 200U);
  if (has_protobuf()) {
    EXPECT_EQ(binary.type, kProtobufType);
    EXPECT_EQ(binary.body, protobuf(*figures.collect()));
  } else {
    EXPECT_EQ(binary.body, kText);
  }

  // Caches need this field.
  const Fields vary{{"Vary", "Accept"}};
  EXPECT_EQ(fields_of(binary), vary);
  EXPECT_EQ(fields_of(openmetrics), vary);
  EXPECT_EQ(fields_of(text), vary);
  EXPECT_EQ(figures.collected, has_protobuf() ? 4 : 3);
}

// The HTTP server leaves out the body.
TEST(Answer, ToHeadIsThatToGet) {
  Figures figures;
  const HttpResponse get = answer({"GET", "/metrics", "*/*"}, figures.collect);
  const HttpResponse head = answer({"HEAD", "/metrics", "*/*"}, figures.collect);
  EXPECT_EQ(head.status, get.status);
  EXPECT_EQ(fields_of(head), fields_of(get));
  EXPECT_EQ(head.body, get.body);
}

TEST(Answer, ToAnythingElseIsARefusalThatCollectsNothing) {
  Figures figures;
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
    const HttpResponse a = answer({method, "/metrics", ""}, figures.collect);
    EXPECT_EQ(a.status, 405U) << method;
    EXPECT_EQ(fields_of(a), (Fields{{"Allow", "GET, HEAD"}})) << method;
  }
  for (const std::string path : {"/", "", "/metric", "/metrics/", "/metrics/x", "/Metrics"}) {
    EXPECT_EQ(answer({"GET", path, "text/plain"}, figures.collect).status, 404U) << path;
  }
  EXPECT_EQ(figures.collected, 0);
}

void expect_openmetrics(const std::string& accept) {
  EXPECT_EQ(wanted_format(accept, true), Format::kOpenMetrics) << accept;
}

void expect_text(const std::string& accept) {
  EXPECT_EQ(wanted_format(accept, true), Format::kText) << accept;
}

void expect_protobuf(const std::string& accept) {
  EXPECT_EQ(wanted_format(accept, true), Format::kProtobuf) << accept;
}

TEST(Accept, WhoNamesProtobufGetsItUnlessOpenMetricsIsPreferred) {
  const std::string protobuf = kProtobuf;
  expect_protobuf(protobuf);
  expect_protobuf("text/plain, " + protobuf);
  expect_protobuf(
      "Application/VND.google.protobuf; Encoding=delimited; "
      "proto=\"io.prometheus.client.MetricFamily\"; q=0.2");
  // Prometheus 2.42 with --enable-feature=native-histograms, and later with scrape_protocols.
  expect_protobuf(
      protobuf +
      ",application/openmetrics-text;version=1.0.0;q=0.8,"
      "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
      "*/*;q=0.1");
  expect_protobuf(protobuf + ";q=0.6,application/openmetrics-text;version=1.0.0;q=0.5");
  expect_openmetrics("application/openmetrics-text;version=1.0.0;q=0.6," + protobuf + ";q=0.5");
  expect_openmetrics("application/openmetrics-text," + protobuf);
  expect_protobuf(protobuf + ",application/openmetrics-text");
}

TEST(Accept, ProtobufThatIsNotHeldOrMeantIsNotServed) {
  const std::string protobuf = kProtobuf;
  EXPECT_EQ(wanted_format(protobuf, false), Format::kText);
  EXPECT_EQ(wanted_format(protobuf + ",application/openmetrics-text;q=0.1", false),
            Format::kOpenMetrics);
  expect_text(protobuf + ";q=0");
  expect_text("application/vnd.google.protobuf");
  expect_text("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily");
  expect_text(
      "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text");
  expect_text("application/vnd.google.protobuf;proto=other;encoding=delimited");
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

// As from Prometheus's own exporters: promtool reads nothing else.
TEST(Accept, WhoNamesNeitherGetsText) {
  expect_text("");
  expect_text("*/*");
  expect_text("application/json");
  expect_text("application/*");
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
  expect_text("text/plain;q=0");
  expect_openmetrics("application/openmetrics-text;q=0.001,text/plain");
  expect_openmetrics("application/openmetrics-text;q=0,application/openmetrics-text;q=1");
}

TEST(Accept, WhatIsNoListOfTypesHarmsNobody) {
  for (const char* const odd :
       {",", ";", "=", " ", "\t,;=", ",,,;;;===", "q=0", ";q=0", "text", "text/", "/plain",
        "text/plainly", "xtext/plain", "text/plain\xff", "text/plain;q", "text/plain;;;,,,",
        "xapplication/openmetrics-text", "application/openmetrics-textual"}) {
    expect_text(odd);
  }
  expect_openmetrics("application/openmetrics-text;q=");
  expect_text(std::string(100'000, ','));
}

}  // namespace
}  // namespace rpcrdma::metrics
