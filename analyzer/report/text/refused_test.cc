// Checks the verdicts on captures with refused or wrapped Calls, and with frames that are not
// decoded.
#include "capture_quality.h"
#include "captures_for_tests.h"
#include "refused_text.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::report_of;
using ::testing::StartsWith;

const Finding* find(const Report& r, const std::string& rule) {
  const auto at = std::find_if(r.findings.begin(), r.findings.end(),
                               [&](const Finding& f) { return f.rule == rule; });
  return at == r.findings.end() ? nullptr : &*at;
}

TEST(Refused, EveryCallByErrChunk) {
  const Report r = report_of("cases/all-100-ERR_CHUNK.pcap");
  EXPECT_TRUE(r.has_errors());
  const Finding* const f = find(r, "CALL-REFUSED");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 100U);
  EXPECT_EQ(f->of, 100U);
  EXPECT_EQ(verdict(r).health, Health::kErrors);
  EXPECT_THAT(verdict(r).text,
              HasSubstr("100 of 100 NFS v3 READDIRPLUS Calls refused with ERR_CHUNK: the Reply "
                        "chunk has 512 B, but the Calls request 32 KiB."));
}

TEST(Refused, ByTheVersionsOfTheProgram) {
  EXPECT_THAT(verdict(report_of("cases/b49-prog-mismatch-v4.pcap")).text,
              HasSubstr("PROG_MISMATCH: the server supports only version 3 of program NFS."));
}

TEST(Refused, ForWhatAnsweredCallsHaveNot) {
  const Report r = report_of("cases/protocol-h_s05_write_chunks_many.pcapng");
  EXPECT_THAT(verdict(r).text,
              HasSubstr("4 of 8 ECHO v1 SOURCE Calls refused with ERR_CHUNK: each has 5 Write "
                        "chunks or more, while answered Calls have at most 4."));
}

TEST(Refused, AnAnswerToAKnownOptionIsNoBreach) {
  const Report r = report_of("cases/protocol-h_s15_v2_errors.pcapng");
  for (const Finding& f : r.findings) {
    EXPECT_FALSE(f.rule == "V2-08" && f.role == "server") << f.text;
  }
}

TEST(Refused, TheSharesOfJoinedReportsAddUp) {
  const Report one = report_of("cases/all-100-ERR_CHUNK.pcap");
  Report later = one;
  later.capture.first_ns += 1'000'000'000'000;
  later.capture.last_ns += 1'000'000'000'000;
  for (Connection& c : later.connections) {
    c.first_ns += 1'000'000'000'000;
    c.last_ns += 1'000'000'000'000;
  }
  const auto whole = merge({one, later});
  ASSERT_TRUE(whole);
  EXPECT_THAT(refused_text(*whole), StartsWith("200 of 200 NFS v3 READDIRPLUS Calls refused"));
}

TEST(Refused, AReportThatIsReadHasItsShares) {
  const Report r = report_of("cases/all-100-ERR_CHUNK.pcap");
  std::string json;
  write_json(r, [&](std::string_view piece) { json += piece; });
  const auto again = read_json(json);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(verdict(*again).text, verdict(r).text);
}

TEST(Refused, ATryThatSucceedsOtherwiseIsNoError) {
  for (const char* capture : {"PROBE", "PROBE-program-version", "PROBE-minor-version"}) {
    const Report r = report_of(std::string("rules/") + capture + ".pcap");
    EXPECT_FALSE(r.has_errors()) << capture;
    EXPECT_THAT(verdict(r).text, StartsWith("Healthy: ")) << capture;
  }
}

TEST(Refused, AnsweredCallsStayHealthy) {
  const Report r = report_of("cases/ok-5-getattr.pcap");
  EXPECT_EQ(verdict(r).text, "Healthy: 5 Calls, all answered.");
  EXPECT_EQ(refused_text(r), "");
}

// With krb5i and krb5p the body is wrapped: neither it nor a length in it is read as an NFS status.
TEST(Wrapped, NoFaultIsMadeOfABody) {
  const Report r = report_of("cases/b50-krb5.pcap");
  EXPECT_EQ(verdict(r).text, "Healthy: 4 Calls, all answered.");
  EXPECT_EQ(find(r, "NFS-STATUS"), nullptr);
}

// The base session in tunnels and with link types of all kinds.
TEST(InTunnels, TheVerdictIsThatOfTheBareCapture) {
  for (const char* name : {"vxlan", "vxlan-over-ip6", "geneve", "gre-ip", "erspan1", "erspan2",
                           "ipip", "ip4-in-ip6", "srv6-ip4", "mpls", "pppoe", "vntag",
                           "macsec-noencrypt", "nflog", "loop108", "null-loop", "ppp"}) {
    SCOPED_TRACE(name);
    const Report r = report_of(std::string("cases/tunnel-or-link-") + name + ".pcap");
    EXPECT_EQ(verdict(r).text, "Healthy: 5 Calls, all answered.");
    EXPECT_TRUE(r.capture.unread.empty());
    EXPECT_TRUE(capture_quality_of(r).complete);
  }
}

TEST(Unread, IsNamedByVerdictAndCaptureQuality) {
  Report r;
  r.capture.frames = 25;
  r.capture.unread["IPsec"] = 25;
  EXPECT_EQ(verdict(r).text,
            "No RDMA traffic in the decoded frames; 25 frames in IPsec were not decoded.");
  EXPECT_FALSE(capture_quality_of(r).complete);
  bool named = false;
  for (const QualityLine& line : quality_lines(r)) {
    named |= line.name == std::string("not decoded") && line.text == "25 frames in IPsec";
  }
  EXPECT_TRUE(named);
}

TEST(Unread, LinkTypesComeWithTheCommandThatConverts) {
  Report r;
  r.capture.frames = 25;
  r.capture.unread["link type 105 (IEEE 802.11)"] = 25;
  EXPECT_EQ(
      verdict(r).text,
      "No RDMA traffic in the decoded frames; 25 frames in link type 105 (IEEE 802.11) were "
      "not decoded. If Ethernet follows a header of N bytes in each: editcap -C N -T ether IN "
      "OUT; IP: -T rawip.");
}

TEST(UnreadFrames, AreAddedByMerge) {
  Report a = report_of("cases/ok-5-getattr.pcap");
  Report b = a;
  a.capture.unread["IPsec"] = 25;
  b.capture.unread = {{"IPsec", 25}, {"L2TP", 25}};
  b.connections.clear();  // another capture at the same time
  EXPECT_EQ(unread_text(merge({a, b})->capture), "50 frames in IPsec, 25 frames in L2TP");
}

// The same frames in a capture with decoded packets.
TEST(UnreadFrames, AreInTheVerdictOfAHealthyConnection) {
  Report r = report_of("cases/ok-5-getattr.pcap");
  r.capture.unread["VXLAN"] = 3;
  EXPECT_EQ(verdict(r).text,
            "No faults found: 5 Calls, all answered. 3 frames in VXLAN were not "
            "decoded.");
}

TEST(Fragments, ArePutTogether) {
  const Report r = report_of("cases/ipfrag-read-64k.pcap");
  EXPECT_EQ(verdict(r).text, "Healthy: 1 Call, all answered.");
  EXPECT_EQ(r.capture.packets.roce, 26U);
  EXPECT_EQ(r.capture.packets.icrc_good, 26U);
  EXPECT_EQ(r.capture.packets.lost_capture, 0U);
  EXPECT_EQ(r.capture.fragments, 48U);
  EXPECT_TRUE(capture_quality_of(r).complete);
}

TEST(Copies, AreNoRetransmissions) {
  for (const char* name :
       {"b42-span-duplicates.pcap", "dup-any-bond-sll2.pcap", "dup-two-interfaces.pcapng"}) {
    const Report r = report_of(std::string("cases/") + name);
    EXPECT_EQ(verdict(r).text, "Healthy: 5 Calls, all answered.") << name;
    EXPECT_EQ(r.capture.packets.retransmitted, 0U) << name;
    EXPECT_EQ(r.capture.packets.captured_twice, 25U) << name;
    EXPECT_EQ(r.messages.kinds, report_of("cases/ok-5-getattr.pcap").messages.kinds) << name;
  }
}

// Calls in flight when the capture ends, and Calls that are too old to be in flight.
TEST(InFlight, IsNotWithoutAnAnswer) {
  Report r = report_of("cases/ok-5-getattr.pcap");
  r.procedures.begin()->second.unmatched = 3;
  OpenCall call;
  call.connection = 1;
  call.procedure = r.procedures.begin()->first;
  call.time_ns = r.capture.last_ns - 1'000'000;
  r.edges.open_calls = {call, call};
  EXPECT_EQ(verdict(r).text,
            "Healthy: 5 Calls, 1 without an answer, 2 in flight when the capture ends.");
  r.edges.open_calls[0].time_ns -= 60'000'000'000;
  EXPECT_THAT(verdict(r).text, HasSubstr("2 without an answer, 1 in flight"));
}

}  // namespace
}  // namespace rpcrdma::report
