// Real Linux traffic, compared with the output of the guests themselves (tests/captures/README.md).
#include "support/command.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;

json analyze(const std::string& name) {
  const Result r = run("RPCRDMA analyze --json " + capture(name));
  EXPECT_EQ(r.status, 0) << r.err;
  return parse_json(r.out);
}

std::vector<json> decode(const std::string& name) {
  const Result r = run("RPCRDMA decode --json " + capture(name));
  EXPECT_EQ(r.status, 0) << r.err;
  return json_lines(r.out);
}

class NfsCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(NfsCapture, EveryCallHasItsReplyAndNothingIsMalformed) {
  std::map<std::uint64_t, json> by_frame;
  for (json& m : decode(GetParam())) by_frame.emplace(m["frame"].get<std::uint64_t>(), m);
  std::size_t calls = 0;
  for (const auto& [frame, m] : by_frame) {
    EXPECT_NE(m["kind"], "malformed") << m;
    ASSERT_FALSE(m["match"].is_null()) << m;
    const auto other = by_frame.find(m["match"].get<std::uint64_t>());
    ASSERT_NE(other, by_frame.end()) << m;
    EXPECT_EQ(other->second["match"], frame);
    EXPECT_EQ(other->second["xid"], m["xid"]);
    EXPECT_EQ(m["latency_us"], other->second["latency_us"]);
    calls += m["kind"] == "call" ? 1 : 0;
  }
  EXPECT_EQ(calls * 2, by_frame.size());
  EXPECT_GT(calls, 0U);
}

TEST_P(NfsCapture, BytesOfOperationsAgreeWithTheChunks) {
  for (const json& m : decode(GetParam())) {
    std::uint64_t moved = 0;
    for (const json& o : m["operations"]) {
      EXPECT_TRUE(o["complete"].get<bool>()) << m;
      moved += o["bytes"].get<std::uint64_t>();
    }
    std::uint64_t announced = 0;
    if (m["kind"] == "call") {
      for (const json& s : m["read_list"]) announced += s["length"].get<std::uint64_t>();
    } else {
      for (const json& chunk : m["write_list"]) {
        for (const json& s : chunk) announced += s["length"].get<std::uint64_t>();
      }
      if (!m["reply_chunk"].is_null()) {
        for (const json& s : m["reply_chunk"]) announced += s["length"].get<std::uint64_t>();
      }
    }
    EXPECT_EQ(moved, announced) << m;
  }
}

INSTANTIATE_TEST_SUITE_P(Linux, NfsCapture,
                         ::testing::Values("linux-nfs41.pcap", "linux-nfs3.pcap"),
                         [](const auto& instance) {
                           return std::string(instance.param).substr(6, 4) == "nfs4" ? "Nfs41"
                                                                                     : "Nfs3";
                         });

TEST(Captures, MessageTypesOfNfs41) {
  std::map<std::pair<std::string, std::string>, int> n;
  for (const json& m : decode("linux-nfs41.pcap")) ++n[{m["kind"], m["proc"]}];
  EXPECT_EQ((n[{"call", "RDMA_MSG"}]), 50);
  EXPECT_EQ((n[{"reply", "RDMA_MSG"}]), 39);
  EXPECT_EQ((n[{"reply", "RDMA_NOMSG"}]), 11);
  EXPECT_EQ(n.size(), 3U);
}

TEST(Captures, SetUpOfNfs41) {
  const json a = analyze("linux-nfs41.pcap");
  ASSERT_EQ(a["connections"].size(), 1U);
  const json& c = a["connections"][0];
  EXPECT_EQ(c["setup"], "cm");
  EXPECT_EQ(c["port"], 20049);
  EXPECT_EQ(c["client"]["address"], "10.77.0.2");
  EXPECT_EQ(c["server"]["address"], "10.77.0.1");
  EXPECT_EQ(c["client"]["private_data"]["send_size"], 4096);
  EXPECT_TRUE(c["client"]["private_data"]["remote_invalidation"].get<bool>());
  EXPECT_FALSE(c["server"]["private_data"]["remote_invalidation"].get<bool>());
  EXPECT_EQ(c["thresholds"]["call"], 4096);
  EXPECT_EQ(c["credits"]["forward"]["requested"], 128);
  EXPECT_EQ(c["credits"]["forward"]["granted"], 64);
  EXPECT_EQ(c["state"], "closed");
  EXPECT_EQ(c["closed_by"], "client");
  EXPECT_EQ(c["unmatched"], 0);
  for (const json& finding : a["findings"]) EXPECT_EQ(finding["severity"], "note") << finding;
}

TEST(Captures, ReverseDirectionHasItsOwnLedger) {
  const json a = analyze("linux-deleg.pcap");
  int reverse_calls = 0;
  for (const json& c : a["connections"]) {
    EXPECT_EQ(c["credits"]["forward"]["requested"], 128);
    EXPECT_EQ(c["credits"]["forward"]["granted"], 64);
    if (c["reverse"]["calls"] == 0) continue;
    reverse_calls += c["reverse"]["calls"].get<int>();
    EXPECT_EQ(c["credits"]["reverse"]["requested"], 2);
    EXPECT_EQ(c["credits"]["reverse"]["granted"], 16);
    EXPECT_EQ(c["credits"]["reverse"]["in_use_max"], 1);
  }
  EXPECT_EQ(reverse_calls, 2);
  int seen = 0;
  for (const json& m : decode("linux-deleg.pcap")) {
    if (m["direction"] == "reverse" && m["kind"] == "call") {
      ++seen;
      EXPECT_EQ(m["rpc"]["program_name"], "NFS_CB");
      EXPECT_EQ(m["source"]["address"], "10.77.0.1");
      EXPECT_FALSE(m["match"].is_null());
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST(Captures, RdmaThatIsNoRpcGivesNoMessage) {
  const Result r = run("RPCRDMA decode " + capture("linux-non-rpc.pcap"));
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "");
  const json a = analyze("linux-non-rpc.pcap");
  EXPECT_GE(a["connections"].size(), 2U);
  for (const json& c : a["connections"]) {
    EXPECT_NE(c["protocol"], "rpc-over-rdma");
    EXPECT_EQ(c["calls"], 0);
  }
  EXPECT_EQ(a["packets"]["icrc_bad"], 0);
}

TEST(Captures, IcrcOfForeignStacks) {
  const json a = analyze("roce-icrc-oracle.pcap");
  EXPECT_EQ(a["packets"]["total"], 123);
  EXPECT_EQ(a["packets"]["roce"], 105);
  EXPECT_EQ(a["packets"]["icrc_good"], 105);
  EXPECT_EQ(a["packets"]["icrc_bad"], 0);
}

// Hashes the payload in file order, from extract's lines: NAME BYTES ... file offset N.
std::string file_sum(const TemporaryFolder& folder, const std::string& listing,
                     const std::string& kind, const std::string& operation, std::uint64_t size) {
  struct Piece {
    std::uint64_t offset;
    std::string data;
  };
  std::vector<Piece> pieces;
  std::string sum;
  const auto close_file = [&] {
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
    std::string whole;
    for (const Piece& p : pieces) {
      if (p.offset == whole.size()) whole += p.data;
    }
    if (whole.size() == size) {
      write_file(folder.file("whole"), whole);
      sum = run("md5sum <" + folder.file("whole")).out.substr(0, 32);
    }
  };
  std::istringstream in(listing);
  for (std::string line; std::getline(in, line);) {
    const std::string name = line.substr(0, line.find(' '));
    const auto at = line.find("file offset ");
    if (name.find("-" + kind + "-") == std::string::npos || at == std::string::npos ||
        line.find(operation) == std::string::npos) {
      continue;
    }
    const std::uint64_t offset = std::stoull(line.substr(at + 12));
    // A second piece at the same offset belongs to the next file.
    const bool again = std::any_of(pieces.begin(), pieces.end(),
                                   [&](const Piece& p) { return p.offset == offset; });
    if (again) {
      close_file();
      if (!sum.empty()) return sum;
      pieces.clear();
    }
    pieces.push_back({offset, read_file(folder.file(name))});
  }
  close_file();
  return sum;
}

struct Sum {
  const char* name;
  const char* capture;
  const char* kind;
  const char* operation;
  std::uint64_t size;
  const char* md5;
};

void PrintTo(const Sum& sum, std::ostream* out) {
  *out << sum.name;
}

class ExtractedPayload : public ::testing::TestWithParam<Sum> {};

TEST_P(ExtractedPayload, HasTheSumThatTheGuestPrinted) {
  const Sum& s = GetParam();
  const TemporaryFolder folder;
  const Result r = run("RPCRDMA extract " + capture(s.capture) + " -d " + folder.path());
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(file_sum(folder, r.out, s.kind, s.operation, s.size), s.md5) << r.out;
}

INSTANTIATE_TEST_SUITE_P(Linux, ExtractedPayload,
                         ::testing::Values(Sum{"Nfs41Big", "linux-nfs41.pcap", "write", " READ",
                                               262144, "6536bdeefdb7f6a0628b6742f639c5b0"},
                                           Sum{"Nfs41Odd", "linux-nfs41.pcap", "write", " READ",
                                               5003, "b87133cfd147282aa95a94a78d8a1dd0"},
                                           Sum{"Nfs41Written", "linux-nfs41.pcap", "read", " WRITE",
                                               131072, "84ab359dc6d494c37e83d1167ff5fa79"},
                                           Sum{"Nfs3Big", "linux-nfs3.pcap", "write", " READ",
                                               262144, "a5ebf6d1c0214e205625cc7e10ceff04"},
                                           Sum{"Nfs3Odd", "linux-nfs3.pcap", "write", " READ", 5003,
                                               "c81c523ae8b5d2c3167ebf2c5f852f9d"}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Captures, PartsOfAFileJoinInTheOrderOfTheirNames) {
  for (const auto& [name, parts, md5] :
       {std::tuple{"linux-nfs41.pcap", "big-read-*.bin", "6536bdeefdb7f6a0628b6742f639c5b0"},
        std::tuple{"linux-nfs41.pcap", "w-write-*.bin", "84ab359dc6d494c37e83d1167ff5fa79"},
        std::tuple{"linux-nfs3.pcap", "big-read-*.bin", "a5ebf6d1c0214e205625cc7e10ceff04"},
        std::tuple{"linux-nfs3.pcap", "odd-read-*.bin", "c81c523ae8b5d2c3167ebf2c5f852f9d"}}) {
    const TemporaryFolder folder;
    ASSERT_EQ(run("RPCRDMA extract " + capture(name) + " -d " + folder.path()).status, 0);
    const Result sum = run("cd " + folder.path() + " && cat " + parts + " | md5sum");
    EXPECT_EQ(sum.out.substr(0, 32), md5) << name << " " << parts;
  }
}

// The names come from the capture: who can write to the folder may have put anything there.
TEST(Captures, ExtractedFilesArePrivateAndNothingIsWrittenThroughALink) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string command =
      "umask 0; RPCRDMA extract " + capture("linux-nfs3.pcap") + " -d " + folder.file("out");
  ASSERT_EQ(run(command).status, 0);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder.file("out"))) files.push_back(entry);
  ASSERT_GE(files.size(), 2U);
  std::vector<std::string> contents;
  for (const fs::path& file : files) {
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << file;
    contents.push_back(read_file(file.string()));
    fs::remove(file);
  }
  write_file(folder.file("victim"), "keep me");
  fs::create_symlink(folder.file("victim"), files[0]);
  fs::create_symlink(folder.file("nowhere"), files[1]);
  ASSERT_EQ(run(command).status, 0);
  EXPECT_EQ(read_file(folder.file("victim")), "keep me");
  EXPECT_FALSE(fs::exists(folder.file("nowhere")));
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(files[i]))) << files[i];
    EXPECT_EQ(read_file(files[i].string()), contents[i]) << files[i];
  }
  // A named pipe would have hung.
  fs::remove(files[0]);
  ASSERT_EQ(run("mkfifo '" + files[0].string() + "'; " + command).status, 0);
  EXPECT_EQ(read_file(files[0].string()), contents[0]);
}

TEST(Captures, RebuiltMessagesHoldTheirChunks) {
  const TemporaryFolder folder;
  const Result r =
      run("RPCRDMA extract --message " + capture("linux-nfs3.pcap") + " -d " + folder.path());
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out.find("incomplete"), std::string::npos) << r.out;
  // A Reply to a READ of 32,768 bytes: RPC header 24, status 4, attributes 88, count, eof, length
  // 12.
  EXPECT_NE(r.out.find(" 32896 bytes, NFS v3 READ"), std::string::npos) << r.out;
}

// Payload that cannot be reassembled, or was not sent completely, is reported with the reason.
struct Incomplete {
  const char* name;
  const char* capture;
  const char* reason;
};
class IncompleteMessages : public ::testing::TestWithParam<Incomplete> {};

TEST_P(IncompleteMessages, AreMarkedByExtractAndDecode) {
  const std::string reason = GetParam().reason;
  const std::string path = capture(std::string("cases/") + GetParam().capture);
  const TemporaryFolder folder;
  const Result extracted = run("RPCRDMA extract --message " + path + " -d " + folder.path());
  EXPECT_EQ(extracted.status, 1) << extracted.err;
  EXPECT_NE(extracted.out.find(" (" + reason + "), "), std::string::npos) << extracted.out;
  EXPECT_EQ(extracted.out.find("incomplete in the capture"), std::string::npos) << extracted.out;
  EXPECT_NE(extracted.err.find(" files are incomplete"), std::string::npos) << extracted.err;
  const std::vector<json> messages = json_lines(run("RPCRDMA decode --json " + path).out);
  EXPECT_TRUE(std::any_of(messages.begin(), messages.end(),
                          [&](const json& m) { return m.value("incomplete", "") == reason; }));
  const Result filtered =
      run("RPCRDMA decode -v -Y 'rpcrdma.incomplete == \"" + reason + "\"' " + path);
  EXPECT_NE(filtered.out.find("Incomplete: " + reason), std::string::npos) << filtered.out;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, IncompleteMessages,
    ::testing::Values(Incomplete{"Gap", "protocol-c01-reply-chunk-gap.pcap",
                                 "the responder left a gap in a chunk"},
                      Incomplete{"Dropped", "protocol-c06-write-list-dropped.pcap",
                                 "the Reply does not return a Write chunk that was written"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Captures, ReadChunksInAnyOrderAreJoined) {
  for (const char* name : {"rules/RD-03.pcap", "rules/RD-03-interleaved.pcap"}) {
    const TemporaryFolder folder;
    const Result r = run("RPCRDMA extract --message " + capture(name) + " -d " + folder.path());
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(r.out.find("("), std::string::npos) << r.out;
    // 56 bytes inline, and two chunks of 8.
    EXPECT_NE(r.out.find("-call-0.bin 72 bytes"), std::string::npos) << r.out;
  }
}

TEST(Captures, CompressedAndPipedInputGivesTheSame) {
  const std::string plain = run("RPCRDMA decode --json " + capture("linux-nfs41.pcap")).out;
  ASSERT_FALSE(plain.empty());
  const std::string file = capture("linux-nfs41.pcap");
  EXPECT_EQ(run("gzip -c " + file + " | RPCRDMA decode --json -").out, plain);
  EXPECT_EQ(run("zstd -qc " + file + " | RPCRDMA decode --json -").out, plain);
  EXPECT_EQ(run("cat " + file + " | RPCRDMA decode --json -").out, plain);
  EXPECT_EQ(run("RPCRDMA decode --json <(cat " + file + ")").out, plain);
}

// Files of some MiB use several threads.
TEST(Captures, ThreadsDoNotChangeTheResult) {
  const TemporaryFolder folder;
  std::string large = read_file(capture("linux-nfs41.pcap"));
  while (large.size() < (6U << 20)) {
    for (const char* name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap"}) {
      large += read_file(capture(name)).substr(24);
    }
  }
  write_file(folder.file("large.pcap"), large);
  for (const char* command : {"analyze --json ", "decode --json "}) {
    const Result one = run("RPCRDMA " + (command + folder.file("large.pcap")) + " -j 1");
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_GT(one.out.size(), 1000U);
    for (const char* jobs : {" -j 2", " -j 3", " -j 8"}) {
      const Result more = run("RPCRDMA " + (command + folder.file("large.pcap")) + jobs);
      EXPECT_EQ(more.status, 0) << more.err;
      EXPECT_EQ(one.out, more.out) << jobs;
    }
  }
}

TEST(Captures, FiltersSelectMessages) {
  const std::string file = capture("linux-nfs41.pcap");
  const auto lines = [](const Result& r) { return std::count(r.out.begin(), r.out.end(), '\n'); };
  EXPECT_EQ(lines(run("RPCRDMA decode " + file)), 100);
  EXPECT_EQ(lines(run("RPCRDMA decode --type RDMA_NOMSG " + file)), 11);
  EXPECT_EQ(lines(run("RPCRDMA decode --type call " + file)), 50);
  EXPECT_EQ(lines(run("RPCRDMA decode --connection 2 " + file)), 0);
  const auto all = decode("linux-nfs41.pcap");
  EXPECT_EQ(lines(run("RPCRDMA decode --xid " + std::to_string(all[0]["xid"].get<unsigned>()) +
                      " " + file)),
            2);
  const Result none = run("RPCRDMA decode --to 1 " + file);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(lines(run("RPCRDMA decode --from 1 --to 1000 " + file)), 100);
}

}  // namespace
}  // namespace rpcrdma::e2e
