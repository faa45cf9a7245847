#include "accept.h"

#include <gtest/gtest.h>

namespace rpcrdma::metrics {
namespace {

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
