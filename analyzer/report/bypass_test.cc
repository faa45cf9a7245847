// Captures that show the set-up of connections and not their data, and NFS over TCP.
#include "capture_quality.h"
#include "captures_for_tests.h"
#include "support/pcap_edit.h"

#include <fstream>
#include <functional>
#include <sstream>

#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {
namespace {

using e2e::PcapEdit;

std::string read(const std::string& name) {
  std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

Report report_on(const std::string& file) {
  const std::string path = ::testing::TempDir() + "bypass.pcap";
  std::ofstream(path, std::ios::binary) << file;
  Analysis analysis;
  const auto source = capture::open_file(path);
  EXPECT_TRUE(source);
  EXPECT_TRUE(analysis.pipeline().run(**source, {}, 1));
  analysis.pipeline().finish();
  analysis.finish((*source)->stats());
  return analysis.report();
}

PcapEdit only_cm() {
  PcapEdit edit(read("linux-nfs3.pcap"));
  std::erase_if(edit.records, [](const std::string& r) { return PcapEdit::opcode(r) != 0x64; });
  return edit;
}

bool says_bypass(const Report& r) {
  return std::any_of(r.findings.begin(), r.findings.end(), [](const Finding& f) {
    return f.text.find("only the CM messages") != std::string::npos &&
           std::string(f.advice).find("SPAN") != std::string::npos;
  });
}

// A segment of TCP with these bytes, as a record of a pcap file.
std::string tcp(std::uint16_t port, const std::string& payload) {
  std::string ip(40, '\0');
  ip[0] = 0x45;
  ip[2] = static_cast<char>((40 + payload.size()) >> 8);
  ip[3] = static_cast<char>(40 + payload.size());
  ip[8] = 64;
  ip[9] = 6;
  ip[12] = 10, ip[15] = 2;
  ip[16] = 10, ip[19] = 1;
  ip[20] = 3, ip[22] = static_cast<char>(port >> 8), ip[23] = static_cast<char>(port);
  ip[32] = 0x50;
  const std::string frame = std::string(12, '\2') + std::string("\x08\x00", 2) + ip + payload;
  const auto size = static_cast<std::uint32_t>(frame.size());
  std::string record(16, '\0');
  std::memcpy(record.data() + 8, &size, 4);
  std::memcpy(record.data() + 12, &size, 4);
  return record + frame;
}

// A Call of NFS version 3 in record marking.
std::string nfs_call() {
  return std::string("\x80\0\0\x28\0\0\0\1\0\0\0\0\0\0\0\2\0\1\x86\xa3\0\0\0\3\0\0\0\0", 28) +
         std::string(16, '\0');
}

TEST(Bypass, CmMessagesAlone) {
  PcapEdit edit = only_cm();
  for (const std::size_t kept : {edit.records.size(), std::size_t{3}}) {
    edit.records.resize(kept);
    const Report r = report_on(edit.file());
    EXPECT_EQ(capture_quality_of(r).gaps.silent.amount, 1U);
    EXPECT_FALSE(capture_quality_of(r).complete);
    EXPECT_TRUE(says_bypass(r));
    EXPECT_EQ(verdict(r).text,
              "Only the set-up of connection 1 in this capture: the data bypass this capture "
              "point.");
  }
}

TEST(Bypass, NotOfAConnectionThatIsNotSetUp) {
  PcapEdit edit = only_cm();
  edit.records.resize(1);
  const Report r = report_on(edit.file());
  EXPECT_EQ(capture_quality_of(r).gaps.silent.amount, 0U);
  EXPECT_FALSE(says_bypass(r));
}

TEST(Bypass, NotOfConnectionsWithData) {
  EXPECT_EQ(capture_quality_of(testing::report_of("linux-nfs3.pcap")).gaps.silent.amount, 0U);
  // An undecoded frame may hold the data.
  PcapEdit edit = only_cm();
  std::string foreign = edit.records.back();
  foreign.replace(16 + 12, 2, "\x99\x98");  // ethertype
  edit.records.push_back(foreign);
  const Report r = report_on(edit.file());
  ASSERT_FALSE(r.capture.unread.empty());
  EXPECT_FALSE(says_bypass(r));
}

TEST(Bypass, OneConnectionAmongOthers) {
  Report r = testing::report_of("linux-nfs3.pcap");
  Connection& c = r.connections.emplace_back(r.connections.front());
  c.id = 2;
  c.side[0].counters = c.side[1].counters = {};
  c.state = roce::State::kOpen;
  c.last_ns = c.first_ns;
  r.capture.last_ns = c.first_ns + rules::kSilentSetUpNs - 1;
  EXPECT_EQ(capture_quality_of(r).gaps.silent.amount, 0U);
  r.capture.last_ns = c.first_ns + rules::kSilentSetUpNs;
  EXPECT_EQ(capture_quality_of(r).gaps.silent.connection, std::vector<std::uint32_t>{2});
  conclude(r);
  EXPECT_TRUE(says_bypass(r));
}

TEST(NfsOverTcp, IsNamedInTheVerdict) {
  PcapEdit edit(read("linux-nfs3.pcap").substr(0, 24));
  edit.records = {
      tcp(2049, nfs_call()),           tcp(2049, nfs_call() + nfs_call()),  tcp(2050, nfs_call()),
      tcp(2049, std::string(60, 'x')), tcp(2049, nfs_call().substr(0, 20)), tcp(2049, "")};
  const Report r = report_on(edit.file());
  EXPECT_EQ(r.capture.nfs_tcp, 3U);
  EXPECT_EQ(verdict(r).text,
            "No RDMA traffic in this capture. 3 Calls of NFS over TCP: this mount does not use "
            "RDMA; mount with proto=rdma,port=20049.");
}

TEST(NfsOverTcp, BesideRdmaIsOnlyCounted) {
  PcapEdit edit(read("linux-nfs3.pcap"));
  edit.records.push_back(tcp(2049, nfs_call()));
  std::memcpy(edit.records.back().data(), edit.records[0].data(), 8);
  const Report r = report_on(edit.file());
  // The client of this capture had tried TCP.
  EXPECT_EQ(r.capture.nfs_tcp, testing::report_of("linux-nfs3.pcap").capture.nfs_tcp + 1);
  EXPECT_EQ(verdict(r).text.find("TCP"), std::string::npos);
}

}  // namespace
}  // namespace rpcrdma::report
