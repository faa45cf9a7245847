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

struct NotDecoded {
  const char* capture;
  const char* text;
};
class Unread : public ::testing::TestWithParam<NotDecoded> {};

TEST_P(Unread, IsNamedByVerdictAndCaptureQuality) {
  const Report r = report_of(std::string("cases/") + GetParam().capture + ".pcap");
  EXPECT_EQ(verdict(r).text, std::string("No RDMA traffic in the decoded frames; ") +
                                 GetParam().text + " were not decoded.");
  EXPECT_FALSE(capture_quality_of(r).complete);
  bool named = false;
  for (const QualityLine& line : quality_lines(r)) {
    named |= line.name == std::string("not decoded") && line.text == GetParam().text;
  }
  EXPECT_TRUE(named);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Unread,
    ::testing::Values(
        NotDecoded{"tunnel-or-link-vxlan", "25 frames in VXLAN"},
        NotDecoded{"tunnel-or-link-vxlan-over-ip6", "25 frames in VXLAN"},
        NotDecoded{"tunnel-or-link-geneve", "25 frames in GENEVE"},
        NotDecoded{"tunnel-or-link-gre-ip", "25 frames in GRE"},
        NotDecoded{"tunnel-or-link-erspan1", "25 frames in ERSPAN"},
        NotDecoded{"tunnel-or-link-erspan2", "25 frames in ERSPAN"},
        NotDecoded{"tunnel-or-link-ipip", "25 frames in IP in IP"},
        NotDecoded{"tunnel-or-link-ip4-in-ip6", "25 frames in 4in6"},
        NotDecoded{"tunnel-or-link-srv6-ip4", "25 frames in SRv6"},
        NotDecoded{"tunnel-or-link-mpls", "25 frames in MPLS"},
        NotDecoded{"tunnel-or-link-pppoe", "25 frames in PPPoE"},
        NotDecoded{"tunnel-or-link-vntag", "25 frames in VN-Tag"},
        NotDecoded{"tunnel-or-link-macsec-noencrypt", "25 frames in MACsec"},
        NotDecoded{"tunnel-or-link-nflog", "25 frames in link type 239 (NFLOG)"},
        NotDecoded{"tunnel-or-link-loop108", "25 frames in link type 108 (OpenBSD loopback)"},
        NotDecoded{"tunnel-or-link-null-loop", "25 frames in link type 0 (BSD loopback)"},
        NotDecoded{"tunnel-or-link-ppp", "25 frames in link type 9 (PPP)"},
        NotDecoded{"b34-iwarp-nfs", "12 frames in iWARP"}),
    [](const auto& test) {
      std::string name = test.param.capture;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(UnreadFrames, AreAddedByMerge) {
  const Report vxlan = report_of("cases/tunnel-or-link-vxlan.pcap");
  const Report both = *merge({vxlan, report_of("cases/tunnel-or-link-mpls.pcap"), vxlan});
  EXPECT_EQ(unread_text(both.capture), "50 frames in VXLAN, 25 frames in MPLS");
}

// The same frames in a capture with decoded packets.
TEST(UnreadFrames, AreInTheVerdictOfAHealthyConnection) {
  Report r = report_of("cases/ok-5-getattr.pcap");
  r.capture.unread["VXLAN"] = 3;
  EXPECT_EQ(verdict(r).text,
            "No faults found: 5 Calls, all answered. 3 frames in VXLAN were not "
            "decoded.");
  EXPECT_THAT(verdict(report_of("cases/ipfrag-read-64k.pcap")).text,
              HasSubstr("48 frames in IP fragments were not decoded."));
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
