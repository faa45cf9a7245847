// `rpcrdma capture` on the loopback interface of an empty network namespace, which replays the
// frames of a capture.
#include "loopback_up.h"
#include "support/background.h"
#include "support/command.h"
#include "support/encapsulate.h"
#include "support/pcap_edit.h"

#include <algorithm>
#include <csignal>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace rpcrdma::e2e {
namespace {

constexpr std::size_t kRecordHeader = 16;

// Once per process: enters a network namespace and enables its loopback.
bool enter_namespace() {
  static const bool entered = [] {
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    return set_loopback_up();
  }();
  return entered;
}

void send_frames(const std::vector<std::string>& frames) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  ASSERT_GE(fd, 0) << std::strerror(errno);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_ALL);
  to.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
  for (const std::string& frame : frames) {
    ASSERT_EQ(
        ::sendto(fd, frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to),
        static_cast<ssize_t>(frame.size()))
        << std::strerror(errno);
  }
  ::close(fd);
}

// The part of each line that does not depend on the time and place of capture.
std::vector<std::string> gist_of_packets(const std::string& lines) {
  std::vector<std::string> all;
  for (const nlohmann::json& m : json_lines(lines)) {
    if (m["kind"] == "finding") continue;
    all.push_back(m["kind"].dump() + m["xid"].dump() + m["proc"].dump() + m["credit"].dump() +
                  m["source"].dump() + m["destination"].dump() + m["read_list"].dump() +
                  m["write_list"].dump());
  }
  return all;
}

class LiveCapture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!enter_namespace()) GTEST_SKIP() << "not permitted to make a network namespace";
    const PcapEdit edit(read_file(whole_));
    for (const std::string& record : edit.records) frames_.push_back(record.substr(kRecordHeader));
  }

  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"capture", "-i", "lo", "-B", "64"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Runs until as many packets have arrived as the capture has RoCE packets, all of which are sent.
  void run_whole(const std::vector<std::string>& more) {
    std::vector<std::string> all = command(more);
    all.insert(all.end(), {"-c", "824"});
    Background r(all, folder_.file("out"));
    ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
    ASSERT_NO_FATAL_FAILURE(send_frames(frames_));
    EXPECT_EQ(r.finish(), 0) << r.out;
    EXPECT_NE(r.out.find("824 packets captured, 0 dropped"), std::string::npos) << r.out;
  }
  std::string out() const { return read_file(folder_.file("out")); }
  std::vector<std::string> expected() const {
    return gist_of_packets(run("RPCRDMA decode --json " + whole_).out);
  }

  TemporaryFolder folder_;
  std::string whole_ = capture("linux-nfs41.pcap");
  std::vector<std::string> frames_;
};

TEST_F(LiveCapture, DecodesAsFromAFile) {
  ASSERT_NO_FATAL_FAILURE(run_whole({"--json"}));
  EXPECT_GE(expected().size(), 100U);
  EXPECT_EQ(gist_of_packets(out()), expected());
}

TEST_F(LiveCapture, LinesAreThoseOfDecode) {
  ASSERT_NO_FATAL_FAILURE(run_whole({"--xid", "0xe222da5e"}));
  EXPECT_NE(out().find("10.77.0.2.17 > 10.77.0.1.17: call 0xe222da5e RDMA_MSG credit 128 | NFS v4 "
                       "NULL\n"),
            std::string::npos)
      << out();
}

TEST_F(LiveCapture, WritesAFileThatIsRead) {
  const std::string file = folder_.file("new.pcapng");
  ASSERT_NO_FATAL_FAILURE(run_whole({"-w", file}));
  EXPECT_EQ(out(), "");
  const Result r = run("RPCRDMA decode --json " + file);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(gist_of_packets(r.out), expected());
}

// The kernel's filter lets everything through that RoCE can be in, and nothing else.
TEST_F(LiveCapture, TunnelsOnRequest) {
  std::vector<std::string> frames;
  const PcapEdit edit(read_file(whole_));
  const auto first = std::find_if(edit.records.begin(), edit.records.end(),
                                  [](const std::string& r) { return PcapEdit::opcode(r) >= 0; });
  const std::string roce = first->substr(kRecordHeader);
  for (const encapsulate::Encapsulation& e : encapsulate::tunnels()) {
    if (e.types.empty()) continue;
    const encapsulate::Bytes frame = e.wrap({{roce.begin(), roce.end()}});
    frames.emplace_back(frame.begin(), frame.end());
  }
  ASSERT_GE(frames.size(), 40U);
  const std::size_t tunnels = frames.size();
  const encapsulate::Bytes dns = encapsulate::in_udp(53, encapsulate::Bytes(40, 0));
  frames.emplace_back(dns.begin(), dns.end());
  std::string fragment(frames.front());  // a later fragment of an IPv4 datagram
  fragment[20] = 0, fragment[21] = 100;
  frames.push_back(fragment);
  std::vector<std::string> all =
      command({"--tunnels", "-w", folder_.file("t.pcapng"), "-c", std::to_string(tunnels + 1)});
  Background r(all, folder_.file("out"));
  ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
  ASSERT_NO_FATAL_FAILURE(send_frames(frames));
  EXPECT_EQ(r.finish(), 0) << r.out;
  const nlohmann::json report =
      parse_json(run("RPCRDMA analyze --json " + folder_.file("t.pcapng")).out);
  EXPECT_EQ(report["packets"]["total"], tunnels + 1);
  EXPECT_EQ(report["packets"]["roce"], tunnels);
}

TEST_F(LiveCapture, WritesToStandardOutput) {
  ASSERT_NO_FATAL_FAILURE(run_whole({"-w", "-"}));
  const Result r = run("RPCRDMA decode --json - <" + folder_.file("out"));
  EXPECT_EQ(gist_of_packets(r.out), expected()) << r.err;
}

TEST_F(LiveCapture, WritesAndPrints) {
  const std::string file = folder_.file("new.pcapng");
  ASSERT_NO_FATAL_FAILURE(run_whole({"-w", file, "--print", "--json"}));
  EXPECT_EQ(gist_of_packets(out()), expected());
  EXPECT_EQ(gist_of_packets(run("RPCRDMA decode --json " + file).out), expected());
}

TEST_F(LiveCapture, RingKeepsTheNewestFiles) {
  const std::string file = folder_.file("ring.pcapng");
  ASSERT_NO_FATAL_FAILURE(run_whole({"-w", file, "--ring-size", "100k", "--ring-files", "3"}));
  const Result names = run("ls " + folder_.file("ring_*.pcapng"));
  EXPECT_EQ(std::count(names.out.begin(), names.out.end(), '\n'), 3) << names.out;
  const std::vector<std::string> all = expected();
  const std::vector<std::string> kept =
      gist_of_packets(run("RPCRDMA decode --json " + folder_.file("ring_*.pcapng")).out);
  ASSERT_GT(kept.size(), 10U);
  ASSERT_LT(kept.size(), all.size());
}

TEST_F(LiveCapture, DefaultFilterTakesRoceInEveryDress) {
  const auto roce = std::find_if(frames_.begin(), frames_.end(), [](const std::string& frame) {
    return PcapEdit::opcode(std::string(kRecordHeader, '\0') + frame) >= 0;
  });
  ASSERT_NE(roce, frames_.end());
  const std::string macs = roce->substr(0, 12);
  const std::string rest = roce->substr(12);
  const std::string vlan("\x81\x00\x00\x05", 4);
  const std::string qinq("\x88\xa8\x00\x07", 4);
  std::string other_port = *roce;
  other_port[14 + 20 + 3] ^= 1;
  const std::vector<std::string> wanted{
      *roce, macs + vlan + rest, macs + qinq + vlan + rest,
      macs + std::string("\x89\x15", 2) + std::string(60, '\x33'),
      macs + vlan + std::string("\x89\x15", 2) + std::string(60, '\x33')};
  std::vector<std::string> sent{other_port, macs + vlan + other_port.substr(12)};
  sent.insert(sent.end(), wanted.begin(), wanted.end());

  const std::string file = folder_.file("new.pcapng");
  Background r(command({"-w", file, "-c", "5"}), folder_.file("out"));
  ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
  ASSERT_NO_FATAL_FAILURE(send_frames(sent));
  EXPECT_EQ(r.finish(), 0) << r.out;
  // The file holds each frame completely, in this order.
  const std::string bytes = read_file(file);
  std::size_t at = 0;
  for (const std::string& frame : wanted) {
    at = bytes.find(frame, at);
    ASSERT_NE(at, std::string::npos);
    at += frame.size();
  }
  EXPECT_EQ(bytes.find(other_port), std::string::npos);
}

TEST_F(LiveCapture, AnEmptyFilterTakesEverything) {
  Background r(command({"-f", "", "-w", folder_.file("all.pcapng"), "-c", "881"}),
               folder_.file("out"));
  ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
  ASSERT_NO_FATAL_FAILURE(send_frames(frames_));
  EXPECT_EQ(r.finish(), 0) << r.out;
}

// Waits until the file has grown beyond its initial header.
void wait_for_frames(const std::string& file) {
  while (!run("RPCRDMA decode " + file).out.starts_with(" ")) {
    ASSERT_TRUE(std::filesystem::exists(file));
  }
}

TEST_F(LiveCapture, InterruptEndsWithAWholeFile) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string file = folder_.file("new.pcapng");
    Background r(command({"-w", file}), folder_.file("out"));
    ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
    ASSERT_NO_FATAL_FAILURE(send_frames(frames_));
    ASSERT_NO_FATAL_FAILURE(wait_for_frames(file));
    r.signal(signal);
    EXPECT_EQ(r.finish(), 0) << r.out;
    EXPECT_NE(r.out.find("packets captured, 0 dropped"), std::string::npos) << r.out;
    EXPECT_EQ(run("RPCRDMA decode " + file).err, "");
    // The statistics at the end: type 5, and both lengths.
    const std::string bytes = read_file(file);
    EXPECT_EQ(bytes.substr(bytes.size() - 76, 8), std::string("\x05\0\0\0\x4c\0\0\0", 8));
  }
}

TEST_F(LiveCapture, WhatAKilledCaptureLeavesIsWhole) {
  const std::string file = folder_.file("new.pcapng");
  Background r(command({"-w", file}), folder_.file("out"));
  ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
  ASSERT_NO_FATAL_FAILURE(send_frames(frames_));
  ASSERT_NO_FATAL_FAILURE(wait_for_frames(file));
  r.signal(SIGKILL);
  EXPECT_EQ(r.finish(), 128 + SIGKILL);
  // The only complaint is that the file was not closed.
  EXPECT_EQ(
      run("RPCRDMA decode " + file).err,
      "rpcrdma: warning: " + file +
          ": the recording was not closed: it ends without its statistics, and its last packets "
          "may be missing\n");
}

TEST_F(LiveCapture, EndsByItselfWithoutPackets) {
  Background r(command({"--duration", "50ms"}), folder_.file("out"));
  EXPECT_EQ(r.finish(), 0);
  EXPECT_NE(r.out.find("rpcrdma: 0 packets captured"), std::string::npos) << r.out;
}

TEST_F(LiveCapture, EndsAfterSoManyBytes) {
  Background r(command({"--max-bytes", "1k"}), folder_.file("out"));
  ASSERT_TRUE(r.wait_for("listening on lo")) << r.out;
  ASSERT_NO_FATAL_FAILURE(send_frames(frames_));
  EXPECT_EQ(r.finish(), 0) << r.out;
}

nlohmann::json report_of(const std::string& file) {
  return parse_json(run("RPCRDMA analyze --json " + file).out);
}

// What two captures of the same packets have in common, whatever their clocks and frame numbers.
nlohmann::json gist_of_report(const nlohmann::json& report) {
  nlohmann::json gist;
  for (const char* key :
       {"roce", "icrc_good", "icrc_bad", "icrc_unchecked", "coalesced", "cm", "retransmitted",
        "duplicated", "lost_network", "lost_capture", "malformed", "truncated"}) {
    gist["packets"][key] = report["packets"][key];
  }
  gist["messages"] = report["messages"];
  gist["quality"] = report["capture_quality"];
  // On a busy machine, frames of two processors can be stamped in another order than they lie.
  for (const char* key : {"clock_steps_back", "complete", "damaged"}) gist["quality"].erase(key);
  for (const nlohmann::json& c : report["connections"]) {
    nlohmann::json& one = gist["connections"][c["client"]["qpn"].dump()];
    for (const char* key : {"state", "path_mtu", "messages", "calls", "replies", "errors",
                            "malformed", "chunks", "inline_bytes", "unmatched_operations"}) {
      one[key] = c[key];
    }
    one["client"] = c["client"]["counters"];
    one["server"] = c["server"]["counters"];
  }
  // How long something took differs by where it was captured.
  for (const nlohmann::json& f : report["findings"]) {
    const bool clock = f["text"].get<std::string>().find("clock") != std::string::npos;
    if (f["severity"] != "note" && !clock) gist["findings"].push_back(f["rule"]);
  }
  return gist;
}

// On loopback, packets that an endpoint sends in a batch are captured as one.
TEST_F(LiveCapture, OwnEndpointsOnLoopbackAsInTheirOwnPackets) {
  const std::string own = folder_.file("own.pcapng"), ours = folder_.file("ours.pcapng"),
                    theirs = folder_.file("theirs.pcap");
  Background capture({"capture", "-i", "lo", "-w", ours}, folder_.file("out"));
  ASSERT_TRUE(capture.wait_for("listening on lo")) << capture.out;
  Background tcpdump({"-i", "lo", "-B", "65536", "-U", "-w", theirs, "udp", "port", "4791"}, {},
                     "tcpdump");
  ASSERT_TRUE(tcpdump.wait_for("listening on lo")) << tcpdump.out;
  Background server(
      {"serve", "--listen", "127.0.0.1", "--provider", "soft", "--no-live", "--pcapng", own});
  ASSERT_TRUE(server.wait_for("listening")) << server.out;
  const Result load =
      run("RPCRDMA load 127.0.0.1 --provider soft --no-live --procedure mix --size 1-20000 "
          "--depth 8 --connections 2 --count 500");
  EXPECT_EQ(load.status, 0) << load.err;
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;

  const nlohmann::json expected = report_of(own);
  EXPECT_EQ(expected["messages"]["call"], 500);
  // Until the last packet has come.
  for (const std::string& file : {ours, theirs}) {
    while (report_of(file)["packets"]["roce"] < expected["packets"]["roce"]) continue;
  }
  capture.signal(SIGINT);
  EXPECT_EQ(capture.finish(), 0);
  EXPECT_NE(capture.out.find("captured, 0 dropped"), std::string::npos) << capture.out;
  tcpdump.signal(SIGINT);
  EXPECT_EQ(tcpdump.finish(), 0) << tcpdump.out;
  const nlohmann::json by_capture = report_of(ours), by_tcpdump = report_of(theirs);
  EXPECT_EQ(gist_of_report(by_capture), gist_of_report(expected));
  EXPECT_EQ(gist_of_report(by_tcpdump), gist_of_report(expected));
  // There were frames to cut.
  EXPECT_LT(by_capture["packets"]["total"], expected["packets"]["total"]);
}

TEST_F(LiveCapture, FindingsStandBelowTheirMessages) {
  PcapEdit edit(read_file(whole_));
  edit.records[62 - 1][16 + 14 + 20 + 8 + 12 + 15] = 9;  // rdma_proc of a Reply
  mend_icrc(edit.records[62 - 1]);
  frames_[62 - 1] = edit.records[62 - 1].substr(kRecordHeader);
  ASSERT_NO_FATAL_FAILURE(run_whole({}));
  const std::string text = out();
  const std::size_t at = text.find("!! error HDR-05: ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(at, text.size() / 2);
  ASSERT_NO_FATAL_FAILURE(run_whole({"--json"}));
  bool found = false;
  for (const nlohmann::json& line : json_lines(out())) {
    if (line["kind"] != "malformed") continue;
    found = true;
    ASSERT_EQ(line["findings"].size(), 1U);
    EXPECT_EQ(line["findings"][0]["rule"], "HDR-05");
    EXPECT_EQ(line["findings"][0]["severity"], "error");
  }
  EXPECT_TRUE(found);
}

TEST_F(LiveCapture, RootIsGivenUpBeforeFilesAreWritten) {
  if (::getuid() != 0) GTEST_SKIP() << "not root";
  // Only root can access the folder.
  const std::string secret = folder_.file("new.pcapng");
  Background refused(command({"-w", secret, "--user", "nobody"}), folder_.file("out"));
  EXPECT_EQ(refused.finish(), 2);
  EXPECT_NE(refused.out.find(secret + ": Permission denied (written as user nobody"),
            std::string::npos)
      << refused.out;

  const std::string file = folder_.file("open/new.pcapng");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(folder_.file("open").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(folder_.file("open").c_str(), 0777), 0);
  ASSERT_NO_FATAL_FAILURE(run_whole({"-w", file, "--user", "nobody"}));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
}

TEST_F(LiveCapture, InterfacesAreListed) {
  const Result r = run("RPCRDMA capture -D");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(("\n" + r.out).find("\nlo"), std::string::npos) << r.out;
}

}  // namespace
}  // namespace rpcrdma::e2e
