// Captures in every encapsulation and of every link type that is read: the report is that of the
// bare capture, and names the tunnels.
#include "support/command.h"
#include "support/encapsulate.h"
#include "support/pcap_edit.h"

#include <cstring>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using encapsulate::Encapsulation;
using nlohmann::json;

constexpr std::size_t kRecordHeader = 16;

void put32(std::string& to, std::size_t at, std::size_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  std::memcpy(to.data() + at, &word, 4);
}

encapsulate::Inner frame_of(const std::string& record) {
  return {{record.begin() + kRecordHeader, record.end()}};
}

std::string with_frame(const std::string& record, const encapsulate::Bytes& frame) {
  std::string out = record.substr(0, kRecordHeader);
  put32(out, 8, frame.size());
  put32(out, 12, frame.size());
  return out + std::string(frame.begin(), frame.end());
}

// Only RoCE frames: not every encapsulation can carry ARP.
PcapEdit roce_of(const std::string& name) {
  PcapEdit edit(read_file(capture(name)));
  std::erase_if(edit.records, [](const std::string& r) { return PcapEdit::opcode(r) < 0; });
  return edit;
}

PcapEdit wrapped(PcapEdit edit, const Encapsulation& how) {
  put32(edit.header, 20, how.link);
  for (std::string& record : edit.records) record = with_frame(record, how.wrap(frame_of(record)));
  return edit;
}

class InTunnels : public ::testing::Test {
 protected:
  json analyze(const PcapEdit& edit, const std::string& more = "") {
    write_file(file_, edit.file());
    const Result r = run("RPCRDMA analyze --json " + more + " " + file_);
    EXPECT_EQ(r.err, "");
    return parse_json(r.out);
  }

  TemporaryFolder folder_;
  std::string file_ = folder_.file("in.pcap");
};

std::string types_of(const json& tunnel) {
  std::string types;
  for (const json& layer : tunnel["layers"]) {
    if (!types.empty()) types += ',';
    types += layer["type"].get<std::string>();
  }
  return types;
}

void expect_like_bare(const json& bare, json report, const std::string& types) {
  for (json& c : report["connections"]) {
    EXPECT_EQ(c.contains("tunnels"), !types.empty());
    for (const json& t : c.value("tunnels", json::array())) EXPECT_EQ(types_of(t), types);
    c.erase("tunnels");
  }
  EXPECT_EQ(report, bare);
}

TEST_F(InTunnels, TheReportIsThatOfTheBareCapture) {
  for (const char* name : {"cases/ok-5-getattr.pcap", "linux-nfs3.pcap"}) {
    const PcapEdit edit = roce_of(name);
    const json bare = analyze(edit);
    ASSERT_GE(bare["messages"]["call"].get<int>(), 5) << bare["messages"];
    for (const auto* all : {&encapsulate::tunnels(), &encapsulate::links()}) {
      for (const Encapsulation& e : *all) {
        SCOPED_TRACE(std::string(name) + ": " + e.name);
        expect_like_bare(bare, analyze(wrapped(edit, e)), e.types);
      }
    }
  }
}

const Encapsulation& named(const char* name) {
  const auto& all = encapsulate::tunnels();
  return *std::find_if(all.begin(), all.end(),
                       [&](const Encapsulation& e) { return e.name == name; });
}

TEST_F(InTunnels, NamesKeyAddressesAndSession) {
  const json report = analyze(wrapped(roce_of("cases/ok-5-getattr.pcap"), named("erspan 2")));
  const json& tunnels = report["connections"][0]["tunnels"];
  ASSERT_EQ(tunnels.size(), 2U);
  EXPECT_EQ(tunnels[0]["sender"], "client");
  EXPECT_EQ(tunnels[1]["sender"], "server");
  EXPECT_EQ(tunnels[0]["src"], "192.0.2.1");
  EXPECT_EQ(tunnels[0]["dst"], "192.0.2.2");
  EXPECT_EQ(tunnels[0]["erspan_session"], 100);
  EXPECT_EQ(tunnels[0]["packets"].get<int>() + tunnels[1]["packets"].get<int>(), 25);
  const std::string text = run("RPCRDMA analyze " + file_).out;
  EXPECT_NE(text.find("tunnel     ERSPAN II session 100 from 192.0.2.1 to 192.0.2.2, "),
            std::string::npos)
      << text;
}

TEST_F(InTunnels, FieldsAreFilters) {
  const PcapEdit bare = roce_of("cases/ok-5-getattr.pcap");
  const auto messages = [&](const char* how, const std::string& filter) {
    write_file(file_, (how == nullptr ? bare : wrapped(bare, named(how))).file());
    return json_lines(run("RPCRDMA decode --json -Y '" + filter + "' " + file_).out).size();
  };
  EXPECT_EQ(messages("vxlan", "tunnel.type == \"VXLAN\""), 10U);
  EXPECT_EQ(messages("vxlan", "tunnel.type == \"GENEVE\""), 0U);
  EXPECT_EQ(messages("vxlan", "tunnel.key == 72 && tunnel.src == 192.0.2.1"), 10U);
  EXPECT_EQ(messages("vxlan over ip6", "tunnel.dst == 2001:db8::2"), 10U);
  EXPECT_EQ(messages("erspan 3", "tunnel.erspan_session == 100"), 10U);
  EXPECT_EQ(messages("erspan 3", "tunnel.erspan_session != 100"), 0U);
  EXPECT_EQ(messages("nsh with ip in vxlan-gpe", "tunnel.type == \"NSH\""), 10U);
  EXPECT_EQ(messages(nullptr, "tunnel.type"), 0U);
  EXPECT_EQ(messages(nullptr, "!tunnel.type"), 10U);
}

TEST_F(InTunnels, TheSameConnectionInsideAndOutsideIsOne) {
  PcapEdit edit = roce_of("cases/ok-5-getattr.pcap");
  // The set-up bare, the rest in VXLAN.
  for (std::size_t i = 3; i < edit.records.size(); ++i) {
    edit.records[i] = with_frame(edit.records[i], named("vxlan").wrap(frame_of(edit.records[i])));
  }
  const json report = analyze(edit);
  ASSERT_EQ(report["connections"].size(), 1U);
  EXPECT_EQ(report["connections"][0]["messages"], 10);
  EXPECT_EQ(report["connections"][0]["setup"], "cm");
  EXPECT_EQ(types_of(report["connections"][0]["tunnels"][0]), "VXLAN");
}

// A mirror in the capture of the port that it mirrors.
TEST_F(InTunnels, ThePacketAndItsMirrorAreOne) {
  const PcapEdit bare = roce_of("cases/ok-5-getattr.pcap");
  PcapEdit both = bare;
  both.records.clear();
  for (const std::string& record : bare.records) {
    both.records.push_back(record);
    both.records.push_back(with_frame(record, named("erspan 2").wrap(frame_of(record))));
  }
  const json report = analyze(both);
  ASSERT_EQ(report["connections"].size(), 1U);
  EXPECT_EQ(report["connections"][0]["messages"], 10);
  EXPECT_EQ(report["packets"]["retransmitted"], 0);
  EXPECT_GE(report["packets"]["duplicated"].get<int>(), 20);
  const json& tunnels = report["connections"][0]["tunnels"];
  ASSERT_EQ(tunnels.size(), 2U);
  EXPECT_EQ(tunnels[0]["packets"].get<int>() + tunnels[1]["packets"].get<int>(), 25);
  EXPECT_EQ(report["findings"], analyze(bare)["findings"]);
}

TEST_F(InTunnels, IwarpIsReadToo) {
  const PcapEdit bare(read_file(capture("cases/b34-iwarp-nfs.pcap")));
  const json expected = analyze(bare);
  ASSERT_EQ(expected["messages"]["call"], 5);
  for (const char* how : {"vxlan", "erspan 3", "mpls", "srv6 with ip"}) {
    SCOPED_TRACE(how);
    expect_like_bare(expected, analyze(wrapped(bare, named(how))), named(how).types);
  }
}

TEST_F(InTunnels, PortsOfVxlanAreAnOption) {
  PcapEdit edit = roce_of("cases/ok-5-getattr.pcap");
  for (std::string& record : edit.records) {
    record = with_frame(record, encapsulate::in_udp(4800, encapsulate::operator+(
                                                              encapsulate::hex("0800000000004800"),
                                                              frame_of(record).frame)));
  }
  EXPECT_EQ(analyze(edit)["connections"].size(), 0U);
  EXPECT_EQ(analyze(edit, "--vxlan-port 4799,4800")["connections"].size(), 1U);
  EXPECT_EQ(run("RPCRDMA analyze --vxlan-port 0 " + file_).err,
            "rpcrdma: analyze: --vxlan-port: 0 is not one to 4 ports, separated by commas (see "
            "`rpcrdma analyze --help`)\n");
}

TEST_F(InTunnels, CsvNamesThem) {
  write_file(file_, wrapped(roce_of("cases/ok-5-getattr.pcap"), named("vxlan")).file());
  const Result r = run("RPCRDMA analyze --csv " + folder_.file("csv") + " " + file_);
  const std::string table = read_file(folder_.file("csv") + "/connections.csv");
  EXPECT_NE(table.find("client: VXLAN VNI 72 from 192.0.2.1 to 192.0.2.2; server: VXLAN VNI 72"),
            std::string::npos)
      << table << r.err;
}

}  // namespace
}  // namespace rpcrdma::e2e
