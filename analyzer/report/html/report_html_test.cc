#include "report_for_tests.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/report/report_html.h>

namespace rpcrdma::report {
namespace {

std::string page(const Report& r, const std::string& title) {
  std::string out;
  write_html(r, {title, "1.0"}, [&](std::string_view text) { out += text; });
  return out;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Html, NotesAreFoldedUpBehindErrors) {
  Report r = report_with("x");
  r.findings.push_back(r.findings[0]);
  r.findings[1].severity = rules::Severity::kNote;
  r.findings[1].rule = "LINUX-GRANT";
  std::string html = page(r, "x");
  const std::size_t folded = html.find("<details><summary>1 note: LINUX-GRANT</summary>");
  ASSERT_NE(folded, std::string::npos);
  EXPECT_LT(html.find(">error<"), folded);
  EXPECT_GT(html.find(">note<"), folded);
  r.findings.erase(r.findings.begin());
  html = page(r, "x");
  EXPECT_NE(html.find("No errors, no warnings."), std::string::npos);
}

TEST(Html, ShowsAll) {
  const std::string html = page(report_with("10.0.0.2"), "nfs.pcap");
  for (const char* part :
       {"<title>nfs.pcap: RPC-over-RDMA</title>", "id=\"findings\"", "id=\"credits\"",
        "id=\"time\"", "id=\"latency\"", "id=\"slowest\"", "id=\"procedures\"",
        "id=\"connections\"", "id=\"packets\"", "id=\"capture-quality\"", "FC-01", "frames 5, 9",
        "Credits of connection 1", "Latency of all Calls", "10.0.0.2 QP 17", "128 / 64 / 2"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

// Two parts of the page that share a class would share its layout.
TEST(Html, EachClassHasOneLayout) {
  const std::string html = page(report_with("10.0.0.2"), "x");
  std::set<std::string> classes;
  for (std::size_t at = 0; (at = html.find("\n.", at)) != std::string::npos; ++at) {
    const std::string selector = html.substr(at + 1, html.find_first_of(" {,:>", at + 1) - at - 1);
    if (html[at + 1 + selector.size()] != '{') continue;
    EXPECT_TRUE(classes.insert(selector).second) << selector;
  }
  EXPECT_GE(classes.size(), 2U);
}

TEST(Html, WithoutAMessageThereIsNoVersion) {
  Report r = report_with("10.0.0.2");
  EXPECT_NE(page(r, "x").find(">RPC-over-RDMA v1<"), std::string::npos);
  r.connections[0].version = 0;
  EXPECT_NE(page(r, "x").find(">RPC-over-RDMA<"), std::string::npos);
  EXPECT_EQ(page(r, "x").find("RPC-over-RDMA v"), std::string::npos);
}

// No host name, file name or malformed message can inject markup.
TEST(Html, TextFromACaptureIsNoMarkup) {
  const std::string evil =
      "</title></style></script></td><script>alert(1)</script><img src=x onerror=alert(1)>"
      "\"'><svg onload=alert(1)> &amp; javascript:alert(1)\xff\x01";
  const std::string html = page(report_with(evil), evil);
  EXPECT_GT(times(html, "&lt;img src=x"), 8U);
  EXPECT_EQ(times(html, "<img"), 0U);
  EXPECT_EQ(times(html, "<svg onload"), 0U);
  EXPECT_EQ(times(html, "<script"), 1U);  // the page's own
  EXPECT_EQ(times(html, "</script"), 1U);
  EXPECT_EQ(times(html, "</style"), 1U);
  EXPECT_EQ(times(html, "</title><desc"), times(html, "<svg "));
  // The page has as many tags as with text without tags.
  const std::string harmless = page(report_with("x"), "x");
  EXPECT_EQ(times(html, "<"), times(harmless, "<"));
  EXPECT_EQ(times(html, "\""), times(harmless, "\""));
  EXPECT_EQ(html.find('\xff'), std::string::npos);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
}

TEST(Html, AsksForNothing) {
  const std::string html = page(report_with("x"), "x");
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(times(html, "src="), 0U);
  EXPECT_EQ(times(html, "url("), 0U);
  EXPECT_EQ(times(html, "@import"), 0U);
  // The only URLs are links within the page and the SVG namespace.
  EXPECT_EQ(times(html, "href="), times(html, "href=\"#"));
  EXPECT_EQ(times(html, "://"), times(html, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(Html, ItsSizeIsBounded) {
  const std::string text(10000, 'x');
  Report r = report_with(text);
  const Connection c = r.connections[0];
  const ConnectionCredits credits = r.credits[0];
  const Finding f = r.findings[0];
  const Inconclusive w = r.inconclusive[0];
  const Procedure p = r.procedures.begin()->second;
  for (std::uint32_t i = 2; i <= 20000; ++i) {
    r.connections.push_back(c);
    r.connections.back().id = i;
    r.findings.push_back(f);
    r.findings.back().peer = std::to_string(i);
    r.inconclusive.push_back(w);
    if (i <= kMaxCreditSeries) {
      r.credits.push_back(credits);
      r.credits.back().connection = i;
    }
    if (i <= kMaxProcedures) r.procedures[ProcedureKey{i, 1, 1, UINT32_MAX, false}] = p;
  }
  const std::string html = page(r, text);
  EXPECT_LT(html.size(), std::size_t{8} << 20);
  EXPECT_NE(html.find("20000 connections; these are the 500 most important."), std::string::npos);
  EXPECT_NE(html.find("And 232 more; these are of the most important connections"),
            std::string::npos);
  EXPECT_NE(html.find("And 19800 more kinds of findings, not listed."), std::string::npos);
}

TEST(Html, AnEmptyReportIsAPage) {
  const std::string html = page(Report{}, "empty");
  EXPECT_NE(html.find("No RDMA connection."), std::string::npos);
  EXPECT_EQ(html.find("<svg"), std::string::npos);
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

}  // namespace
}  // namespace rpcrdma::report
