// Tests the section of the page about both ends.
#include "ends_for_tests.h"
#include "report_for_tests.h"

#include <gtest/gtest.h>

#include <rpcrdma/report/report_html.h>

namespace rpcrdma::report {
namespace {

std::string page_of(const ends::Ends* both) {
  std::string out;
  Report r = report_with("x");
  if (both != nullptr) r.ends = *both;
  write_html(r, {"x", "1.0"}, [&](std::string_view text) { out += text; });
  return out;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(HtmlEnds, OneEndHasNoSection) {
  EXPECT_EQ(page_of(nullptr).find("id=\"ends\""), std::string::npos);
}

TEST(HtmlEnds, ShowsVerdictClocksStagesAndWaterfall) {
  const ends::Ends both = testing::ends_with("NFS v3 WRITE");
  const std::string html = page_of(&both);
  for (const char* part :
       {"<a href=\"#ends\">Both ends</a>", "class=\"verdict warning\">NFS v3 WRITE", ">reference<",
        ">-1.000 s<", ">+50.0 ppm<", ">2.5 us<", "client (client.dat)", ">12 us<",
        ">executing</td><td>server</td>", ">94.7 %<", "2 Calls, 1 by the server, 1 inconclusive",
        "The slowest Calls of NFS v3 WRITE", "20 ms, server: executing",
        "network, to the server: 10 us, give or take 2.5 us, from +40 us", "900 us, inconclusive",
        "(1 Call, XID 0x00001002)"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  // The picture has a text of what it shows, and hatches what is not known.
  EXPECT_NE(html.find("XID 0x00001001 22:13:20.000100, 20 ms, server: executing; client posting"),
            std::string::npos);
  EXPECT_NE(html.find("class=\"un\""), std::string::npos);
}

TEST(HtmlEnds, NoSideIsAccusedWithoutOne) {
  ends::Ends both = testing::ends_with("fine");
  both.sides = {2, 0, 0, 0, 0};
  both.accused = ends::Side::kNone;
  EXPECT_NE(page_of(&both).find("class=\"verdict good\">fine"), std::string::npos);
  both.sides = {1, 0, 0, 1, 0};
  EXPECT_NE(page_of(&both).find("class=\"verdict note\">fine"), std::string::npos);
  both.sides = {2, 0, 0, 0, 0};
  both.withheld = 2;
  EXPECT_NE(page_of(&both).find("class=\"verdict note\">fine"), std::string::npos);
}

TEST(HtmlEnds, TextOfPeersIsNoMarkup) {
  const std::string evil = "</title><script>alert(1)</script><img src=x>\"'><svg onload=x>\xff\x01";
  const ends::Ends hostile = testing::ends_with(evil);
  const ends::Ends harmless = testing::ends_with("x");
  const std::string html = page_of(&hostile);
  EXPECT_GT(occurrences(html, "&lt;img src=x"), 5U);
  EXPECT_EQ(occurrences(html, "<img"), 0U);
  EXPECT_EQ(occurrences(html, "<"), occurrences(page_of(&harmless), "<"));
  EXPECT_EQ(occurrences(html, "\""), occurrences(page_of(&harmless), "\""));
  EXPECT_EQ(html.find('\xff'), std::string::npos);
}

TEST(HtmlEnds, AsksForNothing) {
  const ends::Ends both = testing::ends_with("x");
  EXPECT_EQ(occurrences(page_of(&both), "url("), 0U);
}

TEST(HtmlEnds, ItsSizeIsBounded) {
  ends::Ends both = testing::ends_with(std::string(5000, 'x'));
  for (int i = 0; i < 2000; ++i) {
    both.procedures.push_back(both.procedures[0]);
    both.slowest.push_back(both.slowest[0]);
    both.contradictions.push_back(both.contradictions[0]);
  }
  const std::string html = page_of(&both);
  EXPECT_LT(html.size(), std::size_t{8} << 20);
  EXPECT_NE(html.find("And 1977 more procedures"), std::string::npos);
  EXPECT_NE(html.find("And 1981 more contradictions"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::report
