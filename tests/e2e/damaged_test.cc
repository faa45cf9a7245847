// Real captures with a mid-stream start, missing packets, flipped bytes, or an arbitrary end.
#include "support/command.h"
#include "support/pcap_edit.h"

#include <random>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

const char* const kNfsCaptures[] = {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap"};

json analyze_bytes(const TemporaryFolder& folder, const std::string& bytes) {
  write_file(folder.file("edited.pcap"), bytes);
  const Result r = run("RPCRDMA analyze --json " + folder.file("edited.pcap"));
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  return try_parse_json(r.out);
}

// Calls and Replies of all RPC-over-RDMA connections.
struct Totals {
  int connections = 0;
  int calls = 0;
  int unmatched = 0;
  int malformed = 0;
};
Totals totals(const json& a) {
  Totals t;
  for (const json& c : a["connections"]) {
    if (c["protocol"] != "rpc-over-rdma") continue;
    ++t.connections;
    t.calls += c["calls"].get<int>();
    t.unmatched += c["unmatched"].get<int>();
    t.malformed += c["malformed"].get<int>();
  }
  return t;
}

TEST(Damaged, FirstHundredFramesMissing) {
  const TemporaryFolder folder;
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  edit.records.erase(edit.records.begin(), edit.records.begin() + 100);
  const json a = analyze_bytes(folder, edit.file());
  ASSERT_EQ(a["connections"].size(), 1U) << a["connections"];
  const json& c = a["connections"][0];
  EXPECT_EQ(c["setup"], "inferred");
  EXPECT_EQ(c["client"]["address"], "10.77.0.2");
  EXPECT_FALSE(c["client"]["qpn"].is_null());
  EXPECT_FALSE(c["server"]["qpn"].is_null());
  const Totals t = totals(a);
  EXPECT_GT(t.calls, 25);
  // At most the one Call that was in flight at frame 100.
  EXPECT_LE(t.unmatched, 1);
  EXPECT_EQ(t.malformed, 0);
}

TEST(Damaged, BeginsAtAnyFrame) {
  const TemporaryFolder folder;
  for (const char* name : kNfsCaptures) {
    const PcapEdit whole(read_file(capture(name)));
    for (std::size_t skip = 60; skip < whole.records.size(); skip += 97) {
      PcapEdit edit = whole;
      edit.records.erase(edit.records.begin(),
                         edit.records.begin() + static_cast<std::ptrdiff_t>(skip));
      const Totals t = totals(analyze_bytes(folder, edit.file()));
      EXPECT_LE(t.unmatched, 3) << name << " from frame " << skip + 1;
      EXPECT_EQ(t.malformed, 0) << name << " from frame " << skip + 1;
      EXPECT_LE(t.connections, 2) << name << " from frame " << skip + 1;
    }
  }
}

TEST(Damaged, EverySecondAckMissing) {
  const TemporaryFolder folder;
  for (const char* name : kNfsCaptures) {
    const PcapEdit whole(read_file(capture(name)));
    const json before = analyze_bytes(folder, whole.file());
    PcapEdit edit = whole;
    int n = 0;
    std::erase_if(edit.records, [&](const std::string& r) {
      return PcapEdit::opcode(r) == 0x11 && n++ % 2 == 0;
    });
    ASSERT_LT(edit.records.size(), whole.records.size());
    const json after = analyze_bytes(folder, edit.file());
    EXPECT_EQ(totals(after).calls, totals(before).calls) << name;
    EXPECT_EQ(totals(after).unmatched, totals(before).unmatched) << name;
    EXPECT_EQ(after["packets"]["lost_capture"], 0) << name;
  }
}

TEST(Damaged, OneByteFlippedCostsAtMostOneMessage) {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (const char* name : kNfsCaptures) {
    const PcapEdit whole(read_file(capture(name)));
    const Totals before = totals(analyze_bytes(folder, whole.file()));
    for (int i = 0; i < 25; ++i) {
      PcapEdit edit = whole;
      std::string& record = edit.records[random() % edit.records.size()];
      const std::size_t at = 16 + random() % (record.size() - 16);
      record[at] = static_cast<char>(record[at] ^ (1 << random() % 8));
      const json a = analyze_bytes(folder, edit.file());
      const Totals t = totals(a);
      EXPECT_GE(t.calls, before.calls - 1) << name << " byte " << at;
      EXPECT_LE(t.unmatched, before.unmatched + 2) << name << " byte " << at;
      EXPECT_EQ(t.connections, before.connections) << name << " byte " << at;
    }
  }
}

TEST(Damaged, AnyByteOfAnyPlaceFlippedDoesNotCrash) {
  const TemporaryFolder folder;
  std::mt19937 random(11);
  const std::string whole = read_file(capture("linux-deleg.pcap"));
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    write_file(folder.file("edited.pcap"), bytes);
    for (const char* command : {"analyze --json", "decode -v"}) {
      const Result r = run(std::string("RPCRDMA ") + command + " " + folder.file("edited.pcap"));
      EXPECT_LE(r.status, 2) << r.err;
    }
  }
}

TEST(Damaged, CutAtAnyByteShowsSo) {
  const TemporaryFolder folder;
  std::mt19937 random(13);
  const std::string whole = read_file(capture("linux-nfs41.pcap"));
  for (int i = 0; i < 40; ++i) {
    const std::size_t length = 24 + random() % (whole.size() - 24);
    write_file(folder.file("edited.pcap"), whole.substr(0, length));
    const Result r = run("RPCRDMA analyze --json " + folder.file("edited.pcap"));
    ASSERT_EQ(r.status, 0) << "cut at " << length << r.err;
    const json a = parse_json(r.out);
    const bool recorded = a["capture"]["truncated"].get<bool>();
    // An end exactly between two records is no error.
    EXPECT_EQ(recorded, !r.err.empty()) << "cut at " << length;
    EXPECT_EQ(totals(a).malformed, 0) << "cut at " << length;
  }
}

TEST(Damaged, SnapLengthLeavesHeadersReadable) {
  const TemporaryFolder folder;
  PcapEdit edit(read_file(capture("linux-nfs41.pcap")));
  for (std::string& record : edit.records) {
    constexpr std::uint32_t kSnap = 200;
    if (record.size() - 16 <= kSnap) continue;
    record.resize(16 + kSnap);
    std::memcpy(record.data() + 8, &kSnap, 4);
  }
  const json a = analyze_bytes(folder, edit.file());
  const Totals t = totals(a);
  EXPECT_EQ(t.calls, 50);
  EXPECT_EQ(t.unmatched, 0);
  EXPECT_EQ(t.malformed, 0);
}

}  // namespace
}  // namespace rpcrdma::e2e
