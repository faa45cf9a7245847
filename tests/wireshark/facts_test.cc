// Wireshark's own dissectors decode the RPC messages that the plugin passes to them: Linux
// captures, read in one pass unless noted.
#include "lines.h"
#include "support/pcap_edit.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

std::string hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

// Returns the payload of READs or WRITEs as `rpcrdma extract` writes it, by XID, in hexadecimal.
// `kind`: of the chunks. `procedure`: of the Calls.
std::map<std::uint64_t, std::string> extracted(const std::string& name, const std::string& kind,
                                               const std::string& procedure) {
  const e2e::TemporaryFolder folder;
  const Result r =
      tshark("RPCRDMA extract -d " + folder.path() + " --kind " + kind + " " + capture(name));
  std::map<std::uint64_t, std::string> data;
  for (const std::string& line : lines(r.out)) {
    // big-read-000000000000000-00000933-0x387f06ed-write-0.bin 32768 bytes, NFS v3 READ, big, file
    // offset 0
    if (line.find(" " + procedure) == std::string::npos ||
        line.find("file offset") == std::string::npos) {
      continue;
    }
    const std::string file = line.substr(0, line.find(' '));
    data[std::stoull(file.substr(file.rfind("-0x") + 1), nullptr, 16)] =
        hex(e2e::read_file(folder.file(std::filesystem::path(file).filename())));
  }
  return data;
}

// By XID.
std::map<std::uint64_t, std::string> dissected(const std::string& file, const std::string& filter) {
  std::map<std::uint64_t, std::string> data;
  for (const Row& row : fields("-r " + file + " -Y '" + filter + "' -e rpc.xid -e nfs.data")) {
    data[std::stoull(row[0], nullptr, 16)] = row[1];
  }
  return data;
}

constexpr const char* kReadReplies =
    "rpc.msgtyp == 1 && (nfs.procedure_v3 == 6 || nfs.opcode == 25)";
constexpr const char* kWriteCalls =
    "rpc.msgtyp == 0 && (nfs.procedure_v3 == 7 || nfs.opcode == 38)";

class NfsCapture : public ::testing::TestWithParam<std::string> {};

TEST_P(NfsCapture, NothingIsMalformed) {
  for (const char* passes : {"", "-2 "}) {
    const auto rows = fields(passes + std::string("-r ") + readable(GetParam()) +
                             " -Y 'rpc || _ws.malformed' -e frame.number -e _ws.malformed");
    EXPECT_GT(rows.size(), 100U);
    for (const Row& row : rows) EXPECT_EQ(row[1], "") << "frame " << row[0];
  }
}

TEST_P(NfsCapture, EveryReadReplyHasItsData) {
  const auto recorded = extracted(GetParam(), "write", "READ");
  const auto shown = dissected(readable(GetParam()), kReadReplies);
  EXPECT_FALSE(recorded.empty());
  EXPECT_EQ(shown.size(), recorded.size());
  for (const auto& [xid, data] : recorded) {
    const auto it = shown.find(xid);
    ASSERT_NE(it, shown.end()) << "XID " << xid;
    EXPECT_TRUE(it->second == data) << "XID " << xid << ": " << it->second.size() / 2
                                    << " bytes in Wireshark, " << data.size() / 2;
  }
}

TEST_P(NfsCapture, ReadRepliesSayHowLongTheirDataIs) {
  for (const Row& row : fields("-r " + readable(GetParam()) + " -Y '" + kReadReplies +
                               "' -e frame.number -e nfs.count3 -e nfs.read.data_length "
                               "-e nfs.data")) {
    const std::string& length = row[1].empty() ? row[2] : row[1];
    ASSERT_FALSE(length.empty()) << "frame " << row[0];
    EXPECT_EQ(row[3].size() / 2, std::stoull(length)) << "frame " << row[0];
  }
}

// In the frame that completes its arguments: the last response of the server's RDMA Reads.
TEST_P(NfsCapture, WriteCallsAreShownWithTheLastOfTheirData) {
  std::map<std::uint64_t, std::uint64_t> whole;  // by XID
  const Result r = tshark("RPCRDMA decode --json " + capture(GetParam()));
  for (const json& m : e2e::json_lines(r.out)) {
    if (m["kind"] != "call" || m["read_list"].empty()) continue;
    std::uint64_t& last = whole[m["xid"]];
    for (const json& o : m["operations"]) {
      if (o["list"] == "read") last = std::max(last, o["last_frame"].get<std::uint64_t>());
    }
  }
  const auto rows =
      fields("-r " + readable(GetParam()) + " -Y '" + kWriteCalls + "' -e frame.number -e rpc.xid");
  std::size_t seen = 0;
  for (const Row& row : rows) {
    const auto it = whole.find(std::stoull(row[1], nullptr, 16));
    if (it == whole.end()) continue;
    ++seen;
    EXPECT_EQ(std::stoull(row[0]), it->second) << "XID " << row[1];
  }
  EXPECT_EQ(seen, whole.size());
}

TEST_P(NfsCapture, WriteCallsHaveTheirData) {
  const auto shown = dissected(readable(GetParam()), kWriteCalls);
  EXPECT_FALSE(shown.empty());
  for (const auto& [xid, data] : extracted(GetParam(), "read", "WRITE")) {
    const auto it = shown.find(xid);
    ASSERT_NE(it, shown.end()) << "XID " << xid;
    EXPECT_TRUE(it->second == data) << "XID " << xid << ": " << it->second.size() / 2
                                    << " bytes in Wireshark, " << data.size() / 2;
  }
}

INSTANTIATE_TEST_SUITE_P(Linux, NfsCapture, ::testing::ValuesIn(nfs_captures()),
                         [](const auto& instance) {
                           return std::filesystem::path(instance.param).stem().string().substr(6);
                         });

std::size_t rather_long_names(const std::string& name, const std::string& filter,
                              const std::string& field) {
  std::set<std::string> names;
  for (const Row& row : fields("-r " + readable(name) + " -Y '" + filter + "' -e " + field)) {
    for (const std::string& one : split(row[0], ",")) {
      if (one.starts_with("a_rather_long_file_name")) names.insert(one);
    }
  }
  return names.size();
}

TEST(WiresharkShows, DirectoriesThatCameInReplyChunks) {
  EXPECT_EQ(rather_long_names("linux-nfs3.pcap", "rpc.msgtyp == 1 && nfs.procedure_v3 == 17",
                              "nfs.readdirplus.entry.name"),
            120U);
  EXPECT_EQ(
      rather_long_names("linux-nfs41.pcap", "rpc.msgtyp == 1 && nfs.opcode == 26", "nfs.name"),
      120U);
}

TEST(WiresharkShows, WhatASymbolicLinkIsTo) {
  const auto rows = fields("-r " + readable("linux-nfs3.pcap") +
                           " -Y 'rpc.msgtyp == 0 && nfs.procedure_v3 == 10' -e nfs.symlink.to");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_GT(rows[0][0].size(), 100U);
  EXPECT_EQ(rows[0][0].find_first_not_of('y'), std::string::npos);
}

TEST(WiresharkShows, NoRpcWhereThereIsNone) {
  EXPECT_TRUE(
      fields("-r " + readable("linux-non-rpc.pcap") + " -Y rpcrdma -e frame.number").empty());
  EXPECT_FALSE(
      fields("-r " + readable("linux-non-rpc.pcap") + " -Y infiniband -e frame.number").empty());
}

TEST(WiresharkShows, MessagesOfAnUnknownVersion) {
  const auto rows = fields("-r " + readable("rules/HDR-03.pcap") +
                           " -Y rpcrdma.version==9 -e rpcrdma.kind -e rpcrdma.finding");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][0], "malformed");
  EXPECT_EQ(rows[0][1], "HDR-03");
}

TEST(WiresharkShows, CapturesThatBeginInAConnection) {
  const std::string whole = readable("linux-nfs3.pcap");
  const std::string cut = Tshark::instance().file("begun.pcap");
  ASSERT_EQ(tshark("editcap -r " + whole + " " + cut + " 600-1438 && chmod a+r " + cut).status, 0);
  const auto reads = dissected(whole, kReadReplies);
  EXPECT_EQ(reads.size(), 10U);
  EXPECT_EQ(dissected(cut, kReadReplies), reads);
  EXPECT_EQ(dissected(cut, kWriteCalls), dissected(whole, kWriteCalls));
}

// A change to every packet must not change its display.
template <class Change>
void expect_as_usual(const std::string& name, Change change) {
  const std::string whole = readable("linux-nfs3.pcap");
  const std::string columns =
      " -Y rpcrdma -e frame.number -e rpcrdma.xid -e rpcrdma.kind -e rpcrdma.op.first_frame "
      "-e rpcrdma.match.frame -e rpcrdma.bad_icrc -e nfs.data -e nfs.readdirplus.entry.name";
  e2e::PcapEdit edit(e2e::read_file(whole));
  std::size_t changed = 0;
  for (std::string& record : edit.records) {
    if (e2e::PcapEdit::opcode(record) < 0) continue;
    change(record);
    ++changed;
  }
  EXPECT_GT(changed, 1000U);
  const std::string file = Tshark::instance().file(name + ".pcap");
  e2e::write_file(file, edit.file());
  const auto usual = fields("-r " + whole + columns);
  EXPECT_GT(usual.size(), 800U);
  EXPECT_EQ(fields("-r " + file + columns), usual);
}

constexpr std::size_t kEthernet = 16;  // behind the record's header
constexpr std::size_t kIp = kEthernet + 14;
constexpr std::size_t kUdp = kIp + 20;

void lengthen(std::string& record, std::uint32_t by) {
  for (const std::size_t at : {8U, 12U}) {
    std::uint32_t length = 0;
    std::memcpy(&length, record.data() + at, 4);
    length += by;
    std::memcpy(record.data() + at, &length, 4);
  }
}

// TFTP and DNS have lower ports than RoCE, and Wireshark tries those first.
class SourcePort : public ::testing::TestWithParam<int> {};

TEST_P(SourcePort, OfAnotherProtocolDoesNotMislead) {
  expect_as_usual("port-" + std::to_string(GetParam()), [](std::string& record) {
    record[kUdp] = 0;
    record[kUdp + 1] = static_cast<char>(GetParam());
    e2e::mend_icrc(record);
  });
}

INSTANTIATE_TEST_SUITE_P(Lower, SourcePort, ::testing::Values(53, 69));

TEST(WiresharkShows, TaggedFrames) {
  expect_as_usual("vlan", [](std::string& record) {
    record.insert(kEthernet + 12, std::string("\x81\0\0\x07", 4));
    lengthen(record, 4);
  });
}

TEST(WiresharkShows, RoceOverIpv6) {
  expect_as_usual("ipv6", [](std::string& record) {
    const std::string length = record.substr(kUdp + 4, 2);
    const std::string prefix("\xfd\0\0\0\0\0\0\0\0\0\0\0", 12);
    const std::string ip = std::string("\x60\0\0\0", 4) + length + "\x11\x40" + prefix +
                           record.substr(kIp + 12, 4) + prefix + record.substr(kIp + 16, 4);
    record.replace(kEthernet + 12, 2, "\x86\xdd");
    record.replace(kIp, 20, ip);
    lengthen(record, 20);
    const std::vector<std::uint8_t> covered(record.begin() + kIp, record.end() - 4);
    std::uint8_t icrc[4];
    wire::store_icrc(icrc, wire::icrc(wire::IcrcKind::kRoceV2Ipv6, covered, 40 + 8));
    record.replace(record.size() - 4, 4, reinterpret_cast<const char*>(icrc), 4);
  });
}

std::string big_endian(std::size_t value) {
  return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
}

// An IPv4 header without options or checksum.
std::string ip_header(std::size_t payload, char protocol) {
  return std::string("\x45\0", 2) + big_endian(20 + payload) + std::string("\0\0\0\0\x40", 5) +
         protocol + std::string("\0\0\xc0\0\x02\x01\xc0\0\x02\x02", 10);
}

TEST(WiresharkShows, RoceInVxlan) {
  expect_as_usual("vxlan", [](std::string& record) {
    const std::string inner = record.substr(kEthernet);
    const std::string udp = std::string("\xc0\0\x12\xb5", 4) + big_endian(16 + inner.size()) +
                            std::string("\0\0\x08\0\0\0\0\0\x07\0", 10);
    const std::string outer =
        record.substr(kEthernet, 12) + "\x08" + '\0' + ip_header(udp.size() + inner.size(), 17);
    record.insert(kEthernet, outer + udp);
    lengthen(record, static_cast<std::uint32_t>(outer.size() + udp.size()));
  });
}

// RoCEv1 has a GRH and no UDP port by which Wireshark could recognize it.
TEST(WiresharkShows, RoceVersion1InVxlan) {
  expect_as_usual("v1", [](std::string& record) {
    const std::string bth = record.substr(kUdp + 8);
    const std::string prefix("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
    const std::string grh = std::string("\x60\0\0\0", 4) + big_endian(bth.size()) + "\x1b\x40" +
                            prefix + record.substr(kIp + 12, 4) + prefix +
                            record.substr(kIp + 16, 4);
    const std::string packet = grh + bth;
    const std::vector<std::uint8_t> covered(packet.begin(), packet.end() - 4);
    std::uint8_t icrc[4];
    wire::store_icrc(icrc, wire::icrc(wire::IcrcKind::kRoceV1, covered, 40));
    const std::string frame = record.substr(kEthernet, 12) + "\x89\x15" +
                              packet.substr(0, packet.size() - 4) +
                              std::string(reinterpret_cast<const char*>(icrc), 4);
    const std::string udp = std::string("\xc0\0\x12\xb5", 4) + big_endian(16 + frame.size()) +
                            std::string("\0\0\x08\0\0\0\0\0\x07\0", 10);
    const std::string outer =
        record.substr(kEthernet, 12) + "\x08" + '\0' + ip_header(udp.size() + frame.size(), 17);
    const std::size_t before = record.size() - kEthernet;
    record.replace(kEthernet, before, outer + udp + frame);
    lengthen(record, static_cast<std::uint32_t>(record.size() - kEthernet - before));
  });
}

// Wraps the packets of `name` in PPP, `of_each` per frame with PPP multiplexing (RFC 3153).
std::string multiplexed(const std::string& name, std::size_t of_each) {
  constexpr char kPpp = 9;
  e2e::PcapEdit edit(e2e::read_file(capture(name)));
  edit.header[20] = kPpp;
  std::vector<std::string> frames;
  for (std::size_t i = 0; i < edit.records.size(); ++i) {
    const std::string& record = edit.records[i];
    if (i % of_each == 0) frames.push_back(record.substr(0, 16) + std::string("\xff\x03\0\x59", 4));
    const std::string packet = "\x21" + record.substr(kIp);
    frames.back() += big_endian(0xc000 | packet.size()) + packet;
  }
  for (std::string& frame : frames) {
    const auto length = static_cast<std::uint32_t>(frame.size() - 16);
    std::memcpy(frame.data() + 8, &length, 4);
    std::memcpy(frame.data() + 12, &length, 4);
  }
  edit.records = frames;
  const std::string file = Tshark::instance().file("mux-" + std::to_string(of_each) + ".pcap");
  e2e::write_file(file, edit.file());
  return file;
}

// By column: a field's values in the order of packets, in whichever frames they are.
std::vector<Row> values(const std::string& line) {
  std::vector<Row> all;
  for (const Row& row : fields(line)) {
    all.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      for (const std::string& value : split(row[i], ",")) all[i].push_back(value);
    }
  }
  return all;
}

TEST(WiresharkShows, EachOfSeveralPacketsInAFrame) {
  const std::string what =
      " -e rpcrdma.kind -e rpcrdma.xid -e rpcrdma.length -e rpc.xid -e rpc.msgtyp -e nfs.status3";
  const auto expected = values("-r " + readable("cases/ok-5-getattr.pcap") + what);
  ASSERT_EQ(expected.size(), 6U);
  EXPECT_EQ(expected[0].size(), 10U);
  EXPECT_EQ(expected[5].size(), 5U);
  for (const std::size_t of_each : {2U, 4U, 25U}) {
    const std::string file = multiplexed("cases/ok-5-getattr.pcap", of_each);
    for (const char* passes : {"", "-2 "}) {
      EXPECT_EQ(values(passes + std::string("-r ") + file + what), expected)
          << of_each << " in a frame";
    }
  }
}

// An ICMP error quotes a packet; the quotation is not a retransmission.
TEST(WiresharkShows, NoMessageInWhatAnErrorQuotes) {
  const std::string usual = readable("cases/ok-5-getattr.pcap");
  e2e::PcapEdit edit(e2e::read_file(capture("cases/ok-5-getattr.pcap")));
  std::string record = edit.records[3];
  const std::string call = record.substr(kIp);
  const std::string icmp = std::string("\x03\x04\0\0\0\0\x05\xdc", 8) + call;
  record.replace(kIp, call.size(), ip_header(icmp.size(), 1) + icmp);
  lengthen(record, 28);
  edit.records.insert(edit.records.begin() + 3, record);  // before the Call itself
  const std::string file = Tshark::instance().file("quoted.pcap");
  e2e::write_file(file, edit.file());
  const std::string what = " -Y rpcrdma.kind -e rpcrdma.xid -e rpcrdma.kind -e rpcrdma.finding";
  const auto expected = fields("-2 -r " + usual + what);
  EXPECT_EQ(expected.size(), 10U);
  EXPECT_EQ(fields("-2 -r " + file + what), expected);
  EXPECT_EQ(fields("-r " + file + " -Y 'rpcrdma.packet.retransmission' -e frame.number").size(),
            0U);
}

TEST(WiresharkShows, DataOfPacketsInIpFragments) {
  const auto rows = fields("-r " + readable("cases/ipfrag-read-64k.pcap") +
                           " -Y 'rpc.msgtyp == 1' -e nfs.count3 -e nfs.data -e _ws.malformed");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][0], "65536");
  EXPECT_EQ(rows[0][1].size(), 2 * 65536U);
}

// The program ECHO, and the connection configuration.
TEST(WiresharkShows, TheRpcHeaderOfProgramsThatItDoesNotKnow) {
  const auto rows = fields("-r " + readable("cases/protocol-own-5666-no-offer.pcapng") +
                           " -Y rpc.program -e rpc.msgtyp -e rpc.program -e rpc.repframe "
                           "-e rpcrdma.kind -e _ws.malformed");
  ASSERT_EQ(rows.size(), 8U);
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    EXPECT_EQ(rows[i][0], "0");
    EXPECT_EQ(rows[i][3], "call");
    EXPECT_EQ(rows[i + 1][0], "1");
    EXPECT_EQ(rows[i + 1][1], rows[i][1]) << "the Reply's program is its Call's";
    EXPECT_FALSE(rows[i + 1][2].empty()) << "the Reply has no Call";
    EXPECT_EQ(rows[i][4] + rows[i + 1][4], "");
  }
}

// One Call, its Reply and all packets of their operations, and nothing else.
TEST(WiresharkShows, WhatBelongsToAnExchange) {
  const std::string file = readable("linux-nfs3.pcap");
  json call;
  const Result r = tshark("RPCRDMA decode --json " + capture("linux-nfs3.pcap"));
  for (const json& m : e2e::json_lines(r.out)) {
    if (m["kind"] == "call" && m["rpc"]["procedure_name"] == "READ") {
      call = m;
      break;
    }
  }
  ASSERT_FALSE(call.is_null());
  const std::string frame = call["frame"].dump();
  const auto exchange =
      fields("-2 -r " + file + " -Y frame.number==" + frame + " -e rpcrdma.exchange");
  ASSERT_EQ(exchange.size(), 1U);
  std::set<std::uint64_t> messages;
  std::set<std::uint64_t> moved;
  for (const Row& row : fields(
           "-2 -r " + file + " -Y rpcrdma.exchange==" + exchange[0][0] +
           " -e frame.number -e rpcrdma.kind -e rpcrdma.packet.call -e infiniband.reth.dmalen")) {
    if (row[1].empty()) {
      EXPECT_EQ(row[2], frame) << "frame " << row[0];
      moved.insert(std::stoull(row[0]));
    } else {
      messages.insert(std::stoull(row[0]));
    }
  }
  EXPECT_EQ(messages, (std::set<std::uint64_t>{call["frame"], call["match"]}));
  // 32768 bytes at a path MTU of 1024.
  EXPECT_EQ(moved.size(), 32U);
}

TEST(WiresharkKnows, EveryFieldOfOurs) {
  std::set<std::string> known;
  for (const std::string& line : lines(tshark("TSHARK -G fields").out)) {
    const Row columns = split(line, "\t");
    if (columns.size() > 2) known.insert(columns[2]);
  }
  std::size_t ours = 0;
  for (const std::string& line : lines(tshark("RPCRDMA fields").out)) {
    const std::string name = line.substr(0, line.find(' '));
    if (!name.starts_with("rpcrdma.")) continue;
    ++ours;
    EXPECT_TRUE(known.contains(name)) << name;
  }
  EXPECT_GT(ours, 100U);
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
