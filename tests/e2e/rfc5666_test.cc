// What only RFC 5666 has, read back from packets: Replies with Read chunks and padded messages. The
// program ECHO puts a CRC-32C of its data into each message, so a wrongly rebuilt one shows.
#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/pcap_edit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

std::uint32_t crc32c(wire::Bytes data) {
  std::uint32_t crc = ~0U;
  for (const std::uint8_t byte : data) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc >> 1U ^ (crc & 1U ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

// A checksum, a count and its data.
bool is_right(wire::Bytes data) {
  if (data.size() < 8) return false;
  const std::uint32_t length = wire::load_be32(data.data() + 4);
  return data.size() == 8 + (std::uint64_t{length} + 3) / 4 * 4 &&
         crc32c(data.subspan(8, length)) == wire::load_be32(data.data());
}

struct Checked {
  std::size_t calls = 0, replies = 0;  // with data
};

// Checks each message with data that `extract --message` wrote.
Checked check_messages(const std::string& folder) {
  constexpr std::uint32_t kEchoProgram = 0x20525244;
  Checked checked;
  std::map<std::string, std::uint32_t> procedures;  // by XID
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string text = read_file(file.string());
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const std::string xid = file.filename().string().substr(9, 10);
    const bool call = file.filename().string().find("-call-") != std::string::npos;
    if (call && bytes.size() >= 24 && wire::load_be32(&bytes[12]) == kEchoProgram) {
      const std::uint32_t procedure = procedures[xid] = wire::load_be32(&bytes[20]);
      if (procedure != 1 && procedure != 2 && procedure != 4) continue;
      const std::size_t cred = 32 + wire::load_be32(&bytes[28]);
      EXPECT_TRUE(is_right(wire::Bytes(bytes).subspan(cred + 8))) << file;
      ++checked.calls;
    } else if (!call && procedures.contains(xid)) {
      const std::uint32_t procedure = procedures[xid];
      if (procedure != 1 && procedure != 3 && procedure != 4) continue;
      constexpr std::size_t kHeader = 24, kStatusAndTimes = 20;
      EXPECT_TRUE(is_right(wire::Bytes(bytes).subspan(kHeader + kStatusAndTimes))) << file;
      ++checked.replies;
    }
  }
  return checked;
}

Checked extract_all(const std::string& path) {
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA extract --message " + path + " -d " + folder.path());
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return check_messages(folder.path());
}

TEST(Rfc5666, RepliesByReadChunksAreWhole) {
  const Checked checked = extract_all(capture("cases/protocol-own-5666-no-offer.pcapng"));
  EXPECT_EQ(checked.replies, 3U);
}

TEST(Rfc5666, PaddedCallsAreWholeWithoutTheirPadding) {
  const Checked checked = extract_all(capture("cases/protocol-own-5666-msgp.pcapng"));
  EXPECT_EQ(checked.calls, 4U);
}

// 60 bytes of padding precede the data of this WRITE.
TEST(Rfc5666, APaddedWriteHasItsDataBehindItsArguments) {
  const std::string path = capture("cases/protocol-c03-msgp-write.pcap");
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA extract --message " + path + " -d " + folder.path());
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("-call-0.bin 696 bytes, NFS v3 WRITE"), std::string::npos) << r.out;
  const Result tree = run("RPCRDMA decode -v " + path);
  EXPECT_NE(tree.out.find("(656 bytes)"), std::string::npos) << tree.out;
}

TEST(Rfc5666, ReadsOfAReplyAreItsOperations) {
  const Result r =
      run("RPCRDMA decode --json " + capture("cases/protocol-own-5666-no-offer.pcapng"));
  std::size_t replies = 0, dones = 0;
  std::uint64_t reply_frame = 0;
  for (const json& m : json_lines(r.out)) {
    if (m["kind"] == "reply" && !m["read_list"].empty()) {
      ++replies;
      reply_frame = m["frame"].get<std::uint64_t>();
      EXPECT_FALSE(m.contains("incomplete")) << m;
      std::uint64_t offered = 0, moved = 0;
      for (const json& s : m["read_list"]) offered += s["length"].get<std::uint64_t>();
      for (const json& o : m["operations"]) {
        EXPECT_EQ(o["kind"], "read");
        EXPECT_EQ(o["list"], "read");
        EXPECT_GT(o["first_frame"], reply_frame);
        moved += o["bytes"].get<std::uint64_t>();
      }
      EXPECT_EQ(moved, offered) << m;
    } else if (m["kind"] == "done") {
      ++dones;
      EXPECT_EQ(m["match"], reply_frame) << m;
    } else if (m["kind"] == "call") {
      EXPECT_TRUE(m["operations"].empty()) << m;
    }
  }
  EXPECT_EQ(replies, 3U);
  EXPECT_EQ(dones, 3U);
  const json report = parse_json(run("RPCRDMA analyze --json --profile 5666 " +
                                     capture("cases/protocol-own-5666-no-offer.pcapng"))
                                     .out);
  EXPECT_TRUE(report["findings"].empty()) << report["findings"];
  EXPECT_EQ(report["connections"][0]["unmatched_operations"], 0);
  EXPECT_EQ(report["connections"][0]["chunks"]["read"]["bytes"], 27000);
}

TEST(Rfc5666, PayloadOfAReplysReadChunk) {
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA extract --kind read " +
                       capture("cases/protocol-own-5666-no-offer.pcapng") + " -d " + folder.path());
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("00000009-0x73a1e2d7-read-0.bin 9000 bytes, ECHO v1 SOURCE"),
            std::string::npos)
      << r.out;
}

// Without the responses to the Reads, the Reply is not whole.
TEST(Rfc5666, AReplyThatWasNotReadIsMarked) {
  const TemporaryFolder folder;
  const PcapEdit whole(read_file(capture("rules/RD-01.pcap")));
  PcapEdit cut = whole;
  std::erase_if(cut.records, [](const std::string& record) {
    const int opcode = PcapEdit::opcode(record);
    return opcode >= 0x0d && opcode <= 0x10;  // RC RDMA READ response First to Only
  });
  ASSERT_LT(cut.records.size(), whole.records.size());
  const std::string path = folder.path() + "/cut.pcap";
  std::ofstream(path, std::ios::binary) << cut.file();
  const Result r = run("RPCRDMA extract --message " + path + " -d " + folder.path());
  EXPECT_EQ(r.status, 1) << r.out;
  EXPECT_NE(r.out.find("incomplete in the capture"), std::string::npos) << r.out;
  const Result complete =
      run("RPCRDMA extract --message " + capture("rules/RD-01.pcap") + " -d " + folder.path());
  EXPECT_EQ(complete.status, 0) << complete.out << complete.err;
}

// RDMA2_OPTIONAL may carry an RPC message (version 2 draft, section 5.2.1).
TEST(Version2, AnRpcMessageInAnOptionIsACall) {
  const std::string path = capture("cases/protocol-c04-v2-optional-payload.pcap");
  const std::vector<json> messages = json_lines(run("RPCRDMA decode --json " + path).out);
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[2]["kind"], "call");
  EXPECT_EQ(messages[2]["proc"], "RDMA2_OPTIONAL");
  EXPECT_TRUE(messages[2].contains("option_type"));
  EXPECT_EQ(messages[2]["rpc"]["procedure_name"], "NULL");
  EXPECT_EQ(messages[3]["kind"], "reply");
  EXPECT_EQ(messages[3]["match"], messages[2]["frame"]);
  const json report = parse_json(run("RPCRDMA analyze --json " + path).out);
  EXPECT_EQ(report["connections"][0]["calls"], 2);
  EXPECT_TRUE(report["findings"].empty()) << report["findings"];
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA extract --message " + path + " -d " + folder.path());
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 4);
  EXPECT_EQ(r.status, 0);
}

struct Traffic {
  const char* name;
  const char* server;
  const char* client;
  std::size_t calls, replies;  // with data
};
class OwnTraffic : public ::testing::TestWithParam<Traffic> {};

// Fresh packets of both profiles' endpoints: every message comes out right.
TEST_P(OwnTraffic, ComesOutRight) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/own.pcapng";
  const std::string address = own_address(1);
  std::vector<std::string> arguments{"serve",     "--listen",       address,    "--no-live",
                                     "--profile", "rfc5666",        "--pcapng", path,
                                     "--align",   GetParam().server};
  Background server(arguments);
  ASSERT_TRUE(server.wait_for("istening")) << server.out;
  const Result load = run("RPCRDMA load " + address + " --from " + own_address(2) +
                          " --no-live --profile rfc5666 --seed 3 " + GetParam().client);
  EXPECT_EQ(load.status, 0) << load.out << load.err;
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;
  const TemporaryFolder messages;
  const Result r = run("RPCRDMA extract --message " + path + " -d " + messages.path());
  EXPECT_EQ(r.status, 0) << r.err;
  const Checked checked = check_messages(messages.path());
  EXPECT_GE(checked.calls, GetParam().calls);
  EXPECT_GE(checked.replies, GetParam().replies);
  const json report = parse_json(run("RPCRDMA analyze --json --profile 5666 " + path).out);
  for (const json& finding : report["findings"]) EXPECT_EQ(finding["severity"], "note") << finding;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, OwnTraffic,
    ::testing::Values(
        Traffic{"Read", "64",
                "--no-offer --procedure source,echo,echo-bulk,list --size 0,1,3,900-1100,4000-4200,"
                "64Ki,100001 --count 60 --depth 4",
                20, 30},
        Traffic{"Padded", "4096", "--procedure sink,echo-bulk --size 300-3500 --count 40", 40, 10},
        Traffic{"Mixed", "128",
                "--procedure sink,echo-bulk,echo,source --size 1-20Ki --count 60 --depth 6", 20,
                20}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace rpcrdma::e2e
