// Tests the capture quality section, its findings, and their effect on the verdict.
#include "capture_quality.h"

#include "captures_for_tests.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {
namespace {

using testing::report_of;
using testing::report_of_truncated;

std::string line(const Report& r, const std::string& name) {
  for (const QualityLine& l : quality_lines(r)) {
    if (l.name == name) return l.text;
  }
  return {};
}

TEST(CaptureQuality, OfAWholeCaptureIsComplete) {
  const Report r = report_of("linux-nfs41.pcap");
  const CaptureQuality t = capture_quality_of(r);
  EXPECT_TRUE(t.complete);
  EXPECT_EQ(t.icrc, IcrcSeen::kGood);
  EXPECT_TRUE(quality_lines(r).empty());
}

TEST(CaptureQuality, NamesWhatIsMissing) {
  EXPECT_EQ(line(report_of("rules/CAPTURE-lost.pcap"), "lost"),
            "1 packet by the capture, not the network: connection 1");
  EXPECT_EQ(line(report_of("rules/CAPTURE-cut-short.pcap"), "truncated"),
            "1 of 11 packets is truncated to 100 bytes, in 1 message: connection 1");
  EXPECT_EQ(line(report_of("rules/CAPTURE-one-direction.pcap"), "one direction"),
            "packets of one side only: connection 1");
  EXPECT_NE(line(report_of("rules/CAPTURE-clock.pcap"), "clock").find("connection 1"),
            std::string::npos);
  EXPECT_EQ(line(report_of("rules/ICRC.pcap"), "ICRC"), "invalid in 1 of 12 packets: damaged");
  for (const char* kind : {"lost", "cut-short", "one-direction", "clock"}) {
    EXPECT_FALSE(
        capture_quality_of(report_of(std::string("rules/CAPTURE-") + kind + ".pcap")).complete)
        << kind;
  }
}

TEST(CaptureQuality, PacketsCutByASnapshotLengthAreNotLost) {
  for (const char* const name : {"linux-nfs3.pcap", "linux-nfs41.pcap"}) {
    for (const std::size_t snaplen : {40U, 64U, 96U, 128U, 256U}) {
      SCOPED_TRACE(fmt::format("{} {}", name, snaplen));
      const Report r = report_of_truncated(name, snaplen);
      EXPECT_EQ(r.capture.snaplen, snaplen);
      EXPECT_EQ(r.capture.packets.lost_capture, 0U);
      EXPECT_EQ(r.capture.packets.malformed, 0U);
      EXPECT_FALSE(capture_quality_of(r).complete);
      EXPECT_NE(line(r, "truncated").find(fmt::format("truncated to {} bytes", snaplen)),
                std::string::npos);
      const std::string text = verdict(r).text;
      EXPECT_NE(text.find(fmt::format("{} bytes", snaplen)), std::string::npos) << text;
      EXPECT_EQ(text.find("Healthy"), std::string::npos);
      EXPECT_TRUE(std::any_of(r.findings.begin(), r.findings.end(),
                              [](const Finding& f) { return f.rule == "CAPTURE"; }));
      // Rules about missing bytes blame nobody.
      EXPECT_FALSE(r.has_errors());
    }
  }
}

TEST(CaptureQuality, ShortSnapshotLengthsShowTheMessagesThatTheyHold) {
  const Report whole = report_of("linux-nfs3.pcap");
  const Report r = report_of_truncated("linux-nfs3.pcap", 96);
  constexpr auto kCall = static_cast<std::size_t>(model::Kind::kCall);
  EXPECT_EQ(r.messages.kinds[kCall], whole.messages.kinds[kCall]);
}

TEST(CaptureQuality, SaysThatIcrcsAreNotVisible) {
  Report r = report_of("linux-nfs41.pcap");
  r.capture.packets.icrc_bad = r.capture.packets.icrc_good;
  r.capture.packets.icrc_good = 0;
  EXPECT_EQ(capture_quality_of(r).icrc, IcrcSeen::kAllWrong);
  EXPECT_TRUE(line(r, "ICRC").starts_with("not visible"));
  r.capture.packets.icrc_unchecked = r.capture.packets.icrc_bad;
  r.capture.packets.icrc_bad = 0;
  EXPECT_EQ(capture_quality_of(r).icrc, IcrcSeen::kUnchecked);
}

TEST(CaptureQuality, CountsCoalescedPackets) {
  Report r = report_of("linux-nfs41.pcap");
  r.capture.packets.coalesced = 30;
  EXPECT_FALSE(capture_quality_of(r).complete);
  EXPECT_EQ(line(r, "coalesced"),
            "30 datagrams merged by segmentation offload (GSO, GRO) before the capture point; not "
            "decoded");
  r.capture.packets.icrc_bad = 2;
  conclude(r);
  const auto icrc = std::find_if(r.findings.begin(), r.findings.end(),
                                 [](const Finding& f) { return f.rule == std::string("ICRC"); });
  ASSERT_NE(icrc, r.findings.end());
  EXPECT_NE(std::string(icrc->advice).find("before you check for a bad link"), std::string::npos);
}

// Missing responses of a READ count as lost packets everywhere.
TEST(CaptureQuality, CountsLostPacketsAsTheFindingDoes) {
  Report r = report_of("rules/CAPTURE-lost.pcap");
  r.connections.front().side[0].counters.reads_unseen = 2;
  conclude(r);
  EXPECT_TRUE(line(r, "lost").starts_with("3 packets"));
  EXPECT_TRUE(std::any_of(r.findings.begin(), r.findings.end(), [](const Finding& f) {
    return f.text == "3 packets that their receiver acknowledged are not in the capture";
  }));
}

TEST(CaptureQuality, CountsEventsThatCannotBeDecoded) {
  Report r = report_of("linux-nfs41.pcap");
  r.recording.events.malformed = 2;
  EXPECT_FALSE(capture_quality_of(r).complete);
  EXPECT_TRUE(line(r, "damaged").starts_with("2 events of the recording cannot be decoded"));
}

TEST(CaptureQuality, CountsTruncatedRecordings) {
  Report r = report_of("linux-nfs41.pcap");
  r.recording.events.open_ends = 1;
  EXPECT_FALSE(capture_quality_of(r).complete);
  EXPECT_TRUE(capture_quality_of(r).inconclusive.empty());
  EXPECT_EQ(line(r, "truncated recording"),
            "the recording ends without closing counters: up to a second before the end may be "
            "missing");
}

// Most people read only the first line.
TEST(CaptureQuality, TheVerdictHintsAtANetworkThatCouldNotBeJudged) {
  Report r = report_of("linux-nfs41.pcap");
  const std::string healthy = verdict(r).text;
  EXPECT_TRUE(healthy.starts_with("Healthy: "));
  r.inconclusive.push_back({{"FC-01", 1, 1, "events are missing"}});
  EXPECT_EQ(verdict(r).text, healthy);
  r.inconclusive.push_back({{"RETX-STORM", 1, 1, "the number of packets sent is unknown"}});
  r.capture.packets.retransmitted = 66;
  EXPECT_EQ(verdict(r).health, Health::kHealthy);
  EXPECT_TRUE(verdict(r).text.starts_with("No faults found: "));
  EXPECT_TRUE(verdict(r).text.ends_with(
      "all answered; 66 packets were retransmitted, and RETX-STORM could not be judged."));
}

TEST(CaptureQuality, NamesExcludedEventTypes) {
  Report r = report_of("linux-nfs41.pcap");
  r.recording.events.left_out = trace::type_bit(trace::EventType::kOperation) |
                                trace::type_bit(trace::EventType::kOperationEnd);
  EXPECT_FALSE(capture_quality_of(r).complete);
  EXPECT_TRUE(line(r, "excluded").find(": operation, operation end;") != std::string::npos);
}

TEST(CaptureQuality, NamesConnectionsThatAreNotInTheSample) {
  Report r = report_of("linux-nfs41.pcap");
  ASSERT_EQ(r.connections.size(), 1U);
  r.connections[0].recorded = true;
  r.connections.push_back({});
  r.connections[1].id = 2;
  r.connections[1].absent = roce::kAbsentUnlessSampled;
  EXPECT_FALSE(capture_quality_of(r).complete);
  EXPECT_TRUE(line(r, "not sampled").starts_with("1 of 2 connections: ")) << line(r, "not sampled");
  EXPECT_TRUE(line(r, "not sampled").ends_with(": connection 2"));
  const Verdict v = verdict(r);
  EXPECT_FALSE(v.judged);
  EXPECT_TRUE(v.text.starts_with("No faults found: "));
  EXPECT_TRUE(
      v.text.ends_with("; 1 of 2 connections was not judged: only a sample of the "
                       "connections was traced."))
      << v.text;
}

TEST(CaptureQuality, GroupsInconclusiveChecksByReason) {
  Report r = report_of("linux-nfs41.pcap");
  r.inconclusive.push_back({{"FC-01", 1, 2, "the capture lost packets of the connection"}});
  r.inconclusive.push_back({{"FC-02", 1, 3, "the capture lost packets of the connection"}});
  r.inconclusive.push_back({{"FC-01", 1, 1, "the capture's clock stepped back"}});
  const CaptureQuality t = capture_quality_of(r);
  ASSERT_EQ(t.inconclusive.size(), 2U);
  EXPECT_EQ(t.inconclusive[0].count, 5U);
  EXPECT_EQ(line(r, "inconclusive"),
            "5 checks (FC-01, FC-02) on connection 1: the capture lost packets of the connection");
}

// Gaps in several captures are reported like those in one capture.
TEST(CaptureQuality, OfMergedReportsIsOfTheWhole) {
  std::vector<Report> parts;
  for (const char* kind : {"cut-short", "one-direction", "clock"}) {
    Report& r = parts.emplace_back(report_of(std::string("rules/CAPTURE-") + kind + ".pcap"));
    // Changes the peers, because these captures overlap in time.
    for (EndPoint& e : r.connections[0].side) e.address += kind;
  }
  parts.push_back(report_of("linux-nfs41.pcap"));
  const auto whole = merge(parts);
  ASSERT_TRUE(whole);
  const CaptureQuality t = capture_quality_of(*whole);
  EXPECT_FALSE(t.complete);
  EXPECT_EQ(t.gaps.cut_short.amount, 1U);
  EXPECT_EQ(t.gaps.one_sided.connections, 1U);
  EXPECT_EQ(t.gaps.clock_steps_back.connections, 1U);
  // One finding for each kind of gap, with connection IDs of the whole; the parts' findings are
  // gone.
  for (const QualityLine& l : quality_lines(*whole)) EXPECT_FALSE(l.text.empty());
  EXPECT_EQ(std::count_if(whole->findings.begin(), whole->findings.end(),
                          [](const Finding& f) { return f.rule == "CAPTURE"; }),
            3);
}

}  // namespace
}  // namespace rpcrdma::report
