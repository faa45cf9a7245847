// rpcrdma analyze-many gives what one rpcrdma analyze over all files gives.
#include "batch/many_captures.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;

class AnalyzeMany : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(captures_); }

  Result many(const std::string& arguments) const {
    return run("cd " + folder_.path() + "; RPCRDMA analyze-many " + arguments + " --out " + out_);
  }
  Result one(const std::string& arguments) const {
    return run("cd " + folder_.path() + "; RPCRDMA analyze " + arguments);
  }
  std::string report() const { return read_file(out_ + "/report.json"); }
  json summary() const { return parse_json(read_file(out_ + "/summary.json")); }

  TemporaryFolder folder_;
  std::string captures_ = folder_.file("captures");
  std::string out_ = folder_.file("out");
};

TEST_F(AnalyzeMany, EqualsOneAnalysisOfManySmallCaptures) {
  const auto names = write_captures(captures_, 100);
  const Result whole = one("--json" + joined_names(names));
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_EQ(parse_json(whole.out)["connections"].size(), 100U);
  for (const char* slice : {"1", "7", "16", "1000"}) {
    const Result r = many(captures_ + " --json --restart --jobs 3 --slice " + slice);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, whole.out) << slice;
    EXPECT_EQ(report(), whole.out) << slice;
  }
}

TEST_F(AnalyzeMany, WritesTextPageAndTablesOfOneAnalysis) {
  const auto names = write_captures(captures_, 20);
  const Result whole = one("--html a.html --csv a" + joined_names(names));
  const Result r = many(captures_ + " --slice 3 --html m.html --csv m");
  EXPECT_EQ(r.out, whole.out) << r.err;
  EXPECT_EQ(r.status, whole.status);
  EXPECT_EQ(read_file(folder_.file("m.html")), read_file(folder_.file("a.html")));
  EXPECT_EQ(read_file(folder_.file("m/connections.csv")),
            read_file(folder_.file("a/connections.csv")));
  EXPECT_EQ(many(captures_ + " --slice 3 --fail-on note").status,
            one("--fail-on note" + joined_names(names)).status);
}

TEST_F(AnalyzeMany, PassesTheOptionsOfTheAnalysisOn) {
  const auto names = write_captures(captures_, 12);
  const std::string options =
      " --json -Y \"rpcrdma.latency > 1ms\" --slow 1us --slow READDIRPLUS=2us --no-icrc --profile "
      "5666 "
      "--vxlan-port 4799";
  const Result whole = one(joined_names(names) + options);
  const Result r = many(captures_ + " --slice 2 --jobs 2" + options);
  EXPECT_EQ(r.out, whole.out) << r.err;
  EXPECT_NE(r.out, one("--json" + joined_names(names)).out);
}

// The files of a ring, whose connections continue from one to the next.
TEST_F(AnalyzeMany, SlicesOfARingAreMergedAsReports) {
  const PcapEdit whole(read_file(capture("linux-nfs41.pcap")));
  std::string merged, ring;
  for (std::size_t i = 0; i < 9; ++i) {
    const std::string name = fmt::format("{}/ring.pcap{}", captures_, i);
    write_file(name, part(whole, 100 * i, 100 * i + 100).file());
    ring += " " + name;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = fmt::format("{}/part{}.json", folder_.path(), i);
    one(fmt::format("--json {0}/ring.pcap{1} {0}/ring.pcap{2} {0}/ring.pcap{3} > {4}", captures_,
                    3 * i, 3 * i + 1, 3 * i + 2, name));
    merged += " " + name;
  }
  const Result expected = run("RPCRDMA merge --json" + merged);
  ASSERT_EQ(expected.status, 0) << expected.err;
  const Result r = many(captures_ + " --slice 3 --json");
  EXPECT_EQ(r.out, expected.out) << r.err;
  EXPECT_EQ(summary()["units"], 3);
  // In one unit, nothing is lost at a cut.
  EXPECT_EQ(many(captures_ + " --slice 9 --restart --json").out, one("--json" + ring).out);
}

// A report without what joins both ends of each Call, which `analyze` alone does (docs/ends.md).
json without_ends(const std::string& text) {
  json report = parse_json(text);
  EXPECT_TRUE(report.contains("ends"));
  const std::string more = " " + report["ends"]["verdict"].get<std::string>();
  std::string verdict = report["verdict"]["text"];
  EXPECT_TRUE(verdict.ends_with(more));
  report["verdict"]["text"] = verdict.substr(0, verdict.size() - more.size());
  report.erase("ends");
  return report;
}

// Both ends of a connection: `merge` would refuse two reports.
TEST_F(AnalyzeMany, RingsOfTwoHostsAreJoinedByConnection) {
  const PcapEdit whole(read_file(capture("linux-nfs41.pcap")));
  std::string all;
  for (const char* host : {"client", "server"}) {
    std::filesystem::create_directory(captures_ + "/" + host);
    const std::size_t each = host[0] == 'c' ? 150 : 220;
    for (std::size_t i = 0; i * each < whole.records.size(); ++i) {
      const std::string name = fmt::format("{}/{}/ring{}.pcap", captures_, host, i);
      write_file(name, part(whole, i * each, (i + 1) * each).file());
      all += " " + name;
    }
  }
  // Another host's ring at the same time is a unit of its own.
  PcapEdit other = whole;
  other_hosts(other, 99);
  write_file(captures_ + "/other.pcap", other.file());
  const Result r = many(captures_ + "/client " + captures_ + "/server --json --slice 1");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(parse_json(r.out), without_ends(one("--json" + all).out));
  EXPECT_EQ(summary()["units"], 1);
  const json two = parse_json(many(captures_ + " --json --slice 1 --restart").out);
  EXPECT_EQ(summary()["units"], 2);
  EXPECT_EQ(two["connections"].size(), 2U);
}

TEST_F(AnalyzeMany, EveryKeyOfTheSummaryIsDocumented) {
  write_captures(captures_, 2);
  many(captures_);
  const std::string document = read_file(RPCRDMA_TEST_DOCS "/batch.md");
  const json keys = summary();
  std::size_t rows = 0;
  for (const auto& [key, value] : keys.items()) {
    const char* const type = value.is_string() ? "string" : value.is_array() ? "list" : "integer";
    EXPECT_THAT(document, HasSubstr(fmt::format("| `{}` | {} | always |", key, type)));
    ++rows;
  }
  for (std::size_t at = 0; (at = document.find(" | always |", at)) != std::string::npos; ++at)
    --rows;
  EXPECT_EQ(rows, 0U) << "a documented key is not there";
}

// The heads of the files do not show that they overlap.
TEST_F(AnalyzeMany, UnitsThatOverlapAreRefusedUnlessThePlanReadsAll) {
  const PcapEdit whole(read_file(capture("linux-nfs41.pcap")));
  write_file(captures_ + "/client.pcap", whole.file());
  write_file(captures_ + "/server.pcap", whole.file());
  // The first ten packets are of TCP.
  const Result refused = many(captures_ + " --slice 1 --scan 10");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr(" overlap: both show the connection"));
  EXPECT_THAT(refused.err, HasSubstr("or find all that overlap with --restart --scan 0"));
  const Result r = many(captures_ + " --slice 1 --scan 0 --restart --json");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(parse_json(r.out),
            without_ends(one("--json captures/client.pcap captures/server.pcap").out));
}

TEST_F(AnalyzeMany, TakesListsDirectoriesGlobsAndCompressedFiles) {
  const auto names = write_captures(captures_, 6);
  std::filesystem::create_directories(captures_ + "/a/b");
  run("cd " + captures_ + "; gzip c000.pcap; zstd -q --rm c001.pcap; mv c002.pcap a/b; " +
      "editcap -F pcapng c003.pcap a/c003.pcapng && rm c003.pcap; echo notes > README");
  const std::string files = fmt::format(
      " {0}/c000.pcap.gz {0}/c001.pcap.zst {0}/a/b/c002.pcap "
      "{0}/a/c003.pcapng {0}/c004.pcap {0}/c005.pcap",
      captures_);
  const std::string expected = one("--json" + files).out;
  EXPECT_GT(expected.size(), 10000U);
  run("printf '%s\\n'" + files + " > " + folder_.file("list"));
  const Result directory = many(captures_ + " --json");
  EXPECT_EQ(directory.out, expected) << directory.err;
  EXPECT_EQ(summary()["other_files"], 1);
  for (const std::string& inputs :
       {"@" + folder_.file("list"), folder_.file("list"), files,
        "'" + captures_ + "/c*' '" + captures_ + "/a/c*' " + captures_ + "/a/b " + captures_}) {
    const Result r = many(inputs + " --json --restart");
    EXPECT_EQ(r.out, expected) << inputs << r.err;
  }
  const Result piped =
      run("RPCRDMA analyze-many @- --json --restart --out " + out_ + " < " + folder_.file("list"));
  EXPECT_EQ(piped.out, expected) << piped.err;
}

TEST_F(AnalyzeMany, DamagedFilesAreListedAndDoNotStopIt) {
  const auto names = write_captures(captures_, 10);
  const std::string cut = read_file(names[2]);
  write_file(names[2], cut.substr(0, cut.size() - 5));
  write_file(names[4], "");
  write_file(names[5], "\x01\x02\x03\x04 no capture");
  write_file(names[7], read_file(names[7]).substr(0, 10));
  std::string good;
  for (const std::size_t i : {0U, 1U, 2U, 3U, 4U, 6U, 8U, 9U}) good += " " + names[i];
  for (const char* slice : {"1", "16"}) {
    const Result r = many(captures_ + " --json --restart --slice " + slice);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out, one("--json" + good).out) << slice;
    const std::string damaged = read_file(out_ + "/damaged.txt");
    EXPECT_EQ(std::count(damaged.begin(), damaged.end(), '\n'), 4) << damaged;
    EXPECT_THAT(damaged, HasSubstr("not read: " + names[5] + ": not a capture file"));
    EXPECT_THAT(damaged, HasSubstr("not read: " + names[7] + ": "));
    EXPECT_THAT(damaged, HasSubstr("\n" + names[2] + ": the file ends within the"));
    EXPECT_THAT(damaged, HasSubstr(names[4] + ": the file is empty"));
    EXPECT_THAT(r.err, HasSubstr("damaged: 2 not read, 2 read up to the damage"));
    EXPECT_EQ(summary()["not_read"], 2);
    EXPECT_EQ(summary()["read_in_part"], 2);
  }
}

TEST_F(AnalyzeMany, ASecondRunContinuesAndAChangeNeedsARestart) {
  const auto names = write_captures(captures_, 8);
  const Result first = many(captures_ + " --slice 2 --json");
  EXPECT_EQ(summary()["analyzed"], 4);
  std::filesystem::remove(out_ + "/units/0002.json");
  const Result second = many(captures_ + " --slice 2 --json");
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(summary()["analyzed"], 1);
  EXPECT_EQ(summary()["done_before"], 3);
  // Without inputs, as planned.
  EXPECT_EQ(many("--json").out, first.out);

  const Result option = many(captures_ + " --slice 2 -Y nfs");
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.err, HasSubstr("other options: --filter; use --restart"));
  write_file(captures_ + "/new.pcap", read_file(names[0]));
  std::filesystem::remove(names[1]);
  const Result changed = many(captures_ + " --slice 2");
  EXPECT_EQ(changed.status, 2);
  EXPECT_EQ(std::count(changed.err.begin(), changed.err.end(), '\n'), 1);
  EXPECT_THAT(changed.err, HasSubstr("1 file is new, 1 file is gone; use --restart"));
  EXPECT_EQ(many(captures_ + " --slice 2 --restart").status, 0);
}

TEST_F(AnalyzeMany, AFileThatChangedSinceThePlanIsNotAnalyzed) {
  const auto names = write_captures(captures_, 2);
  ASSERT_EQ(many(captures_ + " --slice 1 --plan").status, 0);
  write_file(names[1], read_file(names[0]));
  const Result r = many("");
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("1 of 2 units are not done: " + names[1] +
                               ": changed since it was planned"));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST_F(AnalyzeMany, RefusesWhatItCannotDoInOneLine) {
  write_captures(captures_, 1);
  write_file(folder_.file("damaged.pcap"), "nothing");
  struct Case {
    std::string arguments, part;
  };
  for (const Case& c : std::vector<Case>{
           {"", "has no plan to continue"},
           {"/nonexistent/x.pcap", "No such file"},
           {"'" + captures_ + "/*.none'", "no file matches"},
           {"@/nonexistent/list", "No such file"},
           {captures_ + " --shard 1/2", "takes its files from the plan"},
           {"--shard 3/2", "is not a share such as 3/8"},
           {"--shard auto", "neither a task of Slurm nor a rank of MPI"},
           {"--shard 1/2", "plan.json: No such file"},
           {captures_ + " -Y nonsense", "--filter"},
           {folder_.file("damaged.pcap"), "none of 1 files can be read"},
       }) {
    const Result r = many(c.arguments);
    EXPECT_EQ(r.status, 2) << c.arguments;
    EXPECT_THAT(r.err, HasSubstr(c.part)) << c.arguments;
    EXPECT_EQ(r.out, "");
    std::filesystem::remove_all(out_);
  }
  write_file(folder_.file("file"), "");
  EXPECT_EQ(run("RPCRDMA analyze-many " + captures_ + " --out " + folder_.file("file")).status, 2);
}

// A plan is read by many processes, and may be edited or damaged.
TEST_F(AnalyzeMany, ADamagedPlanIsRefused) {
  write_captures(captures_, 3);
  ASSERT_EQ(many(captures_ + " --plan --slice 1").status, 0);
  const std::string plan = read_file(out_ + "/plan.json");
  for (std::size_t size = 0; size < plan.size(); size += 97) {
    write_file(out_ + "/plan.json", plan.substr(0, size));
    const Result r = many("");
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("plan.json: is not JSON"));
  }
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = plan;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write_file(out_ + "/plan.json", text.replace(at, from.size(), to));
    return many("").err;
  };
  EXPECT_THAT(changed("rpcrdma-batch-1", "rpcrdma-batch-9"), HasSubstr("of another version"));
  EXPECT_THAT(changed("[[0]]", "[[7]]"), HasSubstr("units that do not fit"));
  EXPECT_THAT(changed("[[0]]", "[[1]]"), HasSubstr("units that do not fit"));
  EXPECT_THAT(changed("[[0]]", "[[-1]]"), HasSubstr("not a plan"));
  EXPECT_THAT(changed("[[0]]", "{}"), HasSubstr("not a plan"));
}

}  // namespace
}  // namespace rpcrdma::e2e
