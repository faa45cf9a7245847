// Real traffic with bad ICRCs whose receivers answer: devices that do not check, and tools that
// rewrite addresses.
#include "capture_quality.h"
#include "captures_for_tests.h"
#include "support/pcap_edit.h"

#include <fstream>
#include <functional>
#include <sstream>

namespace rpcrdma::report {
namespace {

using e2e::PcapEdit;

// Which packets get a bad ICRC: by opcode and the last byte of the source address.
using Chosen = std::function<bool(int opcode, std::uint8_t source)>;

Report with_bad_icrcs(const std::string& name, const Chosen& chosen, bool check_icrc = true) {
  std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  PcapEdit edit(bytes.str());
  for (std::string& record : edit.records) {
    const int opcode = PcapEdit::opcode(record);
    if (opcode < 0 || !chosen(opcode, static_cast<std::uint8_t>(record[16 + 14 + 15]))) continue;
    record.back() = static_cast<char>(record.back() ^ 0x55);
  }
  const std::string path = ::testing::TempDir() + "bad-icrcs.pcap";
  std::ofstream(path, std::ios::binary) << edit.file();
  AnalysisOptions options;
  options.model.check_icrc = check_icrc;
  Analysis analysis(std::move(options));
  const auto source = capture::open_file(path);
  EXPECT_TRUE(source);
  EXPECT_TRUE(analysis.pipeline().run(**source, {}, 1));
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  return analysis.report();
}

constexpr int kCm = 0x64;

// Everything but ICRC counts, ACK times of the first packets and the finding itself.
void expect_same_traffic(const Report& a, const Report& b) {
  EXPECT_EQ(a.messages.kinds, b.messages.kinds);
  EXPECT_EQ(a.capture.packets.lost_capture, b.capture.packets.lost_capture);
  EXPECT_EQ(a.capture.packets.retransmitted, b.capture.packets.retransmitted);
  ASSERT_EQ(a.connections.size(), b.connections.size());
  for (std::size_t i = 0; i < a.connections.size(); ++i) {
    EXPECT_EQ(a.connections[i].inline_bytes, b.connections[i].inline_bytes);
    EXPECT_EQ(a.connections[i].chunk_bytes, b.connections[i].chunk_bytes);
  }
}

std::size_t icrc_findings(const Report& r, const char* words) {
  std::size_t n = 0;
  for (const Finding& f : r.findings) {
    if (f.rule != std::string("ICRC")) continue;
    ++n;
    EXPECT_NE(std::string(f.advice).find(words), std::string::npos) << f.advice;
    EXPECT_EQ(std::string(f.advice).find("receivers drop"), std::string::npos) << f.advice;
  }
  return n;
}

class WrongIcrcs : public ::testing::TestWithParam<const char*> {};

TEST_P(WrongIcrcs, OfAllRcPackets) {
  const Report whole = testing::report_of(GetParam());
  const Report r = with_bad_icrcs(GetParam(), [](int opcode, auto) { return opcode != kCm; });
  expect_same_traffic(whole, r);
  EXPECT_EQ(icrc_findings(r, "addresses"), 1U);
  EXPECT_EQ(r.capture.packets.icrc_accepted, r.capture.packets.icrc_bad);
}

TEST_P(WrongIcrcs, OfEverything) {
  const Report whole = testing::report_of(GetParam());
  const Report r = with_bad_icrcs(GetParam(), [](int, auto) { return true; });
  expect_same_traffic(whole, r);
  EXPECT_EQ(icrc_findings(r, "addresses"), 1U);
  EXPECT_EQ(capture_quality_of(r).icrc, IcrcSeen::kAllWrong);
}

TEST_P(WrongIcrcs, OfOneSide) {
  const Report whole = testing::report_of(GetParam());
  for (const int side : {1, 2}) {
    const Report r = with_bad_icrcs(GetParam(), [side](int opcode, std::uint8_t source) {
      return opcode != kCm && source % 2 == side % 2;
    });
    expect_same_traffic(whole, r);
    EXPECT_EQ(icrc_findings(r, "answer these packets"), 1U);
    EXPECT_EQ(capture_quality_of(r).icrc, IcrcSeen::kAccepted);
  }
}

TEST_P(WrongIcrcs, NotVerifiedByRequest) {
  const Report whole = testing::report_of(GetParam());
  const Report r = with_bad_icrcs(
      GetParam(), [](int, auto) { return true; }, false);
  expect_same_traffic(whole, r);
  EXPECT_EQ(icrc_findings(r, ""), 0U);
  EXPECT_EQ(capture_quality_of(r).icrc, IcrcSeen::kOff);
  EXPECT_EQ(r.capture.packets.icrc_off, r.capture.packets.roce);
}

INSTANTIATE_TEST_SUITE_P(Linux, WrongIcrcs,
                         ::testing::Values("linux-nfs3.pcap", "linux-nfs41.pcap",
                                           "linux-deleg.pcap"));

}  // namespace
}  // namespace rpcrdma::report
