// How a report shows the views of a connection in several files.
#include "captures_for_tests.h"

#include <string>

#include <gmock/gmock.h>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_text.h>
#include <rpcrdma/report/view_text.h>

namespace rpcrdma::report {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::report_of;

session::View server_view() {
  session::View v;
  v.origin = roce::Origin::kEndpoint;
  v.recorder = 1;
  v.file = "server.pcapng";
  v.shift_ns = -3'000'000'000;
  v.counts[0].both = 50;
  v.counts[1].both = 49;
  v.counts[1].not_compared = 1;
  v.round_trips = {49, 49 * 5'000'000, 49 * 3'000'000};
  v.offset = session::ClockOffset{0, 20'000};
  return v;
}

Report report_with_view(const session::View& view) {
  Report r = report_of("linux-nfs41.pcap");
  r.connections.front().file = "client.pcapng";
  r.connections.front().views = {view};
  conclude(r);
  return r;
}

std::string views_text_of(const Report& r) {
  std::string text;
  write_text(r, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::size_t views_findings(const Report& r) {
  std::size_t n = 0;
  for (const Finding& f : r.findings)
    n += f.text.find("two views of the connection differ") != std::string::npos ? 1 : 0;
  return n;
}

TEST(ReportViews, SurviveJson) {
  session::View v = server_view();
  v.counts[0].only_here = 1;
  v.differences.push_back({session::ViewDifference::Kind::kOnlyHere, 0, 0x1234, 7, 0});
  v.offset->ns = -5;
  const std::string text = json_of(report_with_view(v));
  const auto read = read_json(text);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(json_of(*read), text);
  ASSERT_EQ(read->connections.front().views.size(), 1U);
  EXPECT_EQ(read->connections.front().views[0].recorder, 1);
  EXPECT_EQ(read->connections.front().views[0].offset->ns, -5);
}

TEST(ReportViews, AreTextWithClocksAndTimes) {
  const std::string text = views_text_of(report_with_view(server_view()));
  EXPECT_THAT(text, HasSubstr("shown by   client.pcapng"));
  EXPECT_THAT(text, HasSubstr("also in    server.pcapng, endpoint of the server: 99 messages in "
                              "both, 1 not compared, no difference; its clock is 3.000 s ahead, "
                              "give or take 20 us; its times are shifted; from Call to Reply 5 ms "
                              "here and 3 ms there on average over 49 Calls"));
}

TEST(ReportViews, ThatDifferAreAFinding) {
  EXPECT_EQ(views_findings(report_with_view(server_view())), 0U);
  session::View v = server_view();
  v.counts[0].only_here = 2;
  v.differences.push_back({session::ViewDifference::Kind::kOnlyHere, 0, 0x1234, 7, 0});
  Report r = report_with_view(v);
  ASSERT_EQ(views_findings(r), 1U);
  EXPECT_THAT(views_text_of(r),
              HasSubstr("it misses 2 messages of the client (XID 0x00001234, frame 7"));
  // Lost events explain it.
  v.missing = 3;
  EXPECT_EQ(views_findings(report_with_view(v)), 0U);
  // They do not explain other bytes.
  v.counts[1].differ = 1;
  EXPECT_EQ(views_findings(report_with_view(v)), 1U);
}

TEST(ReportViews, AreNotInReportsOfOneFile) {
  const Report r = report_of("linux-nfs41.pcap");
  EXPECT_THAT(json_of(r), Not(HasSubstr("\"views\"")));
  EXPECT_THAT(views_text_of(r), Not(HasSubstr("also in")));
}

}  // namespace
}  // namespace rpcrdma::report
