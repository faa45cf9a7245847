// The tests' parser accepts correct text, and nothing else.
#include "support/exposition.h"

#include <gmock/gmock.h>

namespace rpcrdma::metrics::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kRightText = R"(# HELP a_total How many.
# TYPE a_total counter
a_total{role="x",kind="say \"no\"\\\n"} 3
a_total{role="y"} 1.5e+03
# a remark

# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_count{role="x"} 3
b_seconds_sum{role="x"} 0.25
b_seconds_bucket{role="x",le="1e-06"} 1
b_seconds_bucket{role="x",le="0.5"} 3
b_seconds_bucket{role="x",le="+Inf"} 3
# TYPE c summary
c_count 0
c_sum 0
c{quantile="0.5"} Nan
)";

constexpr const char* kRight = R"(# TYPE a counter
# HELP a How \"many\".
a_total{role="x",kind="say \"no\"\\\n"} 3
a_total{role="y"} 1.5e+03
# TYPE b_seconds histogram
# UNIT b_seconds seconds
# HELP b_seconds How long.
b_seconds_bucket{role="x",le="1e-06"} 1
b_seconds_bucket{role="x",le="1.0"} 3
b_seconds_bucket{role="x",le="+Inf"} 3
b_seconds_count{role="x"} 3
b_seconds_sum{role="x"} 0.25
# TYPE c summary
c_count 0
c_sum 0
c{quantile="0.5"} NaN
# TYPE d unknown
d -inf
# EOF
)";

TEST(Exposition, OpenMetricsIsReadAsItIsMeant) {
  const Exposition e(kRight);
  EXPECT_THAT(e.problems(), IsEmpty());
  EXPECT_EQ(e["a_total{kind=\"say \"no\"\\\n\",role=\"x\"}"], 3);
  EXPECT_EQ(e["a_total{role=\"y\"}"], 1500);
  EXPECT_EQ(e["b_seconds_bucket{le=\"1.0\",role=\"x\"}"], 3);
  EXPECT_EQ(e.types().at("a"), "counter");
  EXPECT_EQ(e.units().at("b_seconds"), "seconds");
}

TEST(Exposition, TextIsReadAsItIsMeant) {
  const Exposition e(kRightText, Syntax::kText);
  EXPECT_THAT(e.problems(), IsEmpty());
  EXPECT_EQ(e["a_total{kind=\"say \"no\"\\\n\",role=\"x\"}"], 3);
  EXPECT_EQ(e["a_total{role=\"y\"}"], 1500);
  EXPECT_EQ(e["b_seconds_bucket{le=\"0.5\",role=\"x\"}"], 3);
  EXPECT_TRUE(std::isnan(e["a_total"]));
  EXPECT_EQ(e.types().at("b_seconds"), "histogram");
}

// Exactly one problem, which starts with `what`.
void refused(const std::string& text, const std::string& what) {
  EXPECT_THAT(Exposition(text, Syntax::kText).problems(), ElementsAre(StartsWith(what))) << text;
}

// For text without its EOF, which is added here.
void refused_openmetrics(const std::string& text, const std::string& what) {
  EXPECT_THAT(Exposition(text + "# EOF\n").problems(), ElementsAre(StartsWith(what))) << text;
}

TEST(Exposition, WhatIsWrongIsFound) {
  const std::string a = "# TYPE a counter\n";
  refused(a + "a 1", "the last line has no end");
  refused(a + "a{x=\"1\"} 1\na{x=\"1\"} 1\n", "it was there");
  refused(a + "a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 1\n", "it was there");
  refused(a + "a\n", "no value");
  refused(a + "a one\n", "no number");
  refused(a + "a 1 2 3\n", "no number");
  refused(a + "a -1\n", "a counter that counts no such thing");
  refused(a + "a Nan\n", "a counter that counts no such thing");
  refused(a + "a{x=1} 1\n", "no labels");
  refused(a + "a{x=\"1} 1\n", "no labels");
  refused(a + "a{x=\"\\t\"} 1\n", "no labels");
  refused(a + "a{x-y=\"1\"} 1\n", "no labels");
  refused(a + "a{x=\"1\"y=\"1\"} 1\n", "no labels");
  refused(a + "a{x=\"1\",x=\"1\"} 1\n", "no labels");
  refused(a + "1a 1\n", "no name");
  refused("a 1\n", "not below its TYPE");
  refused(a + "b 1\n", "not below its TYPE");
  refused(a + "a_sum 1\n", "not below its TYPE");
  refused(a + "a 1\n# TYPE b gauge\nb 1\na{x=\"1\"} 1\n", "not below its TYPE");
  refused(a + a, "a second TYPE");
  refused("# TYPE a number\n", "no such type");
  refused("# HELP a b\n# HELP a c\n", "a second HELP");
  refused("# HELP a\n", "a HELP that says nothing");
  refused("# HELP a b\\c\n", "a backslash that escapes nothing");
}

TEST(Exposition, WhatIsWrongInOpenMetricsIsFound) {
  const std::string a = "# TYPE a counter\n";
  EXPECT_THAT(Exposition("").problems(), ElementsAre(StartsWith("no EOF")));
  EXPECT_THAT(Exposition("# EOF").problems(), ElementsAre(StartsWith("the last line has no end")));
  refused_openmetrics("# EOF\n", "more after EOF");
  refused_openmetrics(a + "\n", "no such line");
  refused_openmetrics(a + "# a remark\n", "no such line");
  refused_openmetrics("# TYPE 1a counter\n", "no name");
  refused_openmetrics("# TYPE a untyped\n", "no such type");
  refused_openmetrics("# TYPE a Counter\n", "no such type");
  refused_openmetrics(a + "a 1\n", "not below its TYPE");
  refused_openmetrics("# TYPE a gauge\na_total 1\n", "not below its TYPE");
  refused_openmetrics("# HELP a b\n" + a, "not below its TYPE");
  refused_openmetrics(a + "a_total 1\n# HELP a b\n", "not below its TYPE");
  refused_openmetrics(a + "# HELP a \"b\\\"\n", "a quote that is not escaped");
  refused_openmetrics(a + "# HELP a \\b\n", "a backslash that escapes nothing");
  refused_openmetrics(a + "a_total 0x10\n", "no number");
  refused_openmetrics(a + "a_total Nan()\n", "no number");
  const std::string s = "# TYPE a_seconds gauge\n";
  EXPECT_THAT(Exposition(s + "# UNIT a_seconds seconds\n# EOF\n").problems(), IsEmpty());
  refused_openmetrics(s + "# UNIT a_seconds bytes\n", "not its unit");
  refused_openmetrics(s + "# UNIT a_seconds \n", "not its unit");
  refused_openmetrics(s + "# UNIT b_seconds seconds\n", "not below its TYPE");
  refused_openmetrics(s + "a_seconds 1\n# UNIT a_seconds seconds\n", "not below its TYPE");
  refused_openmetrics(s + "# HELP a_seconds b\n# UNIT a_seconds seconds\n", "not above its HELP");
  refused_openmetrics(s + "# UNIT a_seconds seconds\n# UNIT a_seconds seconds\n", "a second UNIT");
  refused_openmetrics(a + "# TYPE a_created gauge\n", "a name of two families");
  refused_openmetrics("# TYPE h histogram\n# TYPE h_count gauge\n", "a name of two families");
  refused_openmetrics(
      "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_count 1\nh_sum 1\n",
      "no float");
}

TEST(Exposition, AHistogramIsWhole) {
  const std::string h = "# TYPE h histogram\n";
  const std::string ends = "h_count 2\nh_sum 1\n";
  const std::string inf = "h_bucket{le=\"+Inf\"} 2\n";
  EXPECT_THAT(Exposition(h + ends + inf, Syntax::kText).problems(), IsEmpty());
  refused(h + ends, "not all parts");
  refused(h + "h_count 2\n" + inf, "not all parts");
  refused(h + ends + "h_bucket{le=\"1\"} 2\n", "no bucket without end");
  refused(h + ends + "h_bucket{le=\"1\"} 3\n" + inf, "counts fall");
  refused(h + ends + "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\n" + inf, "bounds fall");
  refused(h + "h_count 3\nh_sum 1\n" + inf, "the last bucket is not the count");
  refused(h + ends + inf + "h_bucket 2\n", "le and no bucket");
  refused(h + ends + inf + "h_most 2\n", "no part of a histogram");
}

}  // namespace
}  // namespace rpcrdma::metrics::testing
