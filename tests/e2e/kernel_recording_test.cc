// What the commands show of Linux's own events: values that its tracepoints do not show are absent,
// and nothing is called healthy that was not seen.
#include "kernel_recording.h"

#include "support/command.h"

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

class KernelRecording : public ::testing::Test {
 protected:
  KernelRecording() {
    write_file(file_, tracepoint_recording(read_file(capture("linux-nfs41.pcap"))));
    write_file(sums_, sums_recording());
  }
  [[nodiscard]] std::string output(const std::string& command) const {
    const Result r = run("RPCRDMA " + command + " " + file_);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TemporaryFolder folder_;
  const std::string file_ = folder_.file("tracepoints.pcapng");
  const std::string sums_ = folder_.file("sums.pcapng");
};

TEST_F(KernelRecording, LinesHaveNoValueThatIsNotKnown) {
  const std::string lines = output("decode --type call --type reply");
  EXPECT_FALSE(has(lines, "credit 0")) << lines.substr(0, 400);
  EXPECT_TRUE(has(lines, "credit 64"));  // a grant
  EXPECT_TRUE(has(lines, "(tracepoints) | NFS v4 COMPOUND | answers "));
  EXPECT_FALSE(has(lines, "incomplete"));
  EXPECT_FALSE(has(lines, "SEQUENCE"));  // operations are NFS arguments
}

TEST_F(KernelRecording, TreeHasFieldsAndNoBytes) {
  const std::string trees = output("decode -v --type call");
  EXPECT_TRUE(has(trees, "[Known from: fields of tracepoints]")) << trees.substr(0, 1500);
  EXPECT_FALSE(has(trees, "Credit value"));
  EXPECT_FALSE(has(trees, "Credits requested"));
  EXPECT_FALSE(has(trees, "Threshold"));
  EXPECT_TRUE(has(trees, "Call, NFS version 4 COMPOUND"));
  EXPECT_TRUE(has(trees, "Handle"));
  EXPECT_FALSE(has(trees, "Malformed"));
  EXPECT_EQ(output("decode -v -x --type call"), trees);  // no hexadecimal digits
}

TEST_F(KernelRecording, FiltersFindKnownValuesOnly) {
  EXPECT_EQ(output("decode --type call -Y rpcrdma.credit"), "");
  EXPECT_EQ(output("decode -Y 'rpcrdma.credit == 0'"), "");
  EXPECT_NE(output("decode -Y 'rpcrdma.credit == 64'"), "");
  EXPECT_NE(output("decode -Y rpcrdma.fields_only"), "");
  EXPECT_EQ(output("decode -Y rpc.cred.flavor"), "");
  EXPECT_NE(output("decode -Y 'rpcrdma.segment.length > 0'"), "");
}

TEST_F(KernelRecording, ExtractRefusesMessagesWithoutBytes) {
  const Result r = run("RPCRDMA extract --message -d " + folder_.path() + "/out " + file_);
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(has(r.err,
                  "messages have no bytes: the source, records of kernel tracepoints, has "
                  "fields only"))
      << r.err;
  EXPECT_EQ(r.out, "");
}

TEST_F(KernelRecording, ReportSaysWhatWasNotJudged) {
  const std::string text = output("analyze");
  EXPECT_FALSE(has(text, "Healthy"));
  EXPECT_TRUE(has(text, "No faults found: ")) << text.substr(0, 600);
  EXPECT_TRUE(has(text,
                  "rules were not judged: events of kernel tracepoints do not show what they "
                  "need"));
  EXPECT_TRUE(has(text,
                  "header bytes, NFS arguments and results, QP numbers, private data, "
                  "requested credits, NAKs and retransmissions are not in them"))
      << text;
  EXPECT_TRUE(has(text, "credits granted 64, at most"));
  EXPECT_FALSE(has(text, "requested 0"));
  EXPECT_TRUE(has(text, "slot wait 10 us / 10 us, marshal")) << text;
  EXPECT_TRUE(has(text, "private    client: unknown; server: unknown"));
  EXPECT_FALSE(has(text, "truncated"));
}

TEST_F(KernelRecording, ReportsOfItCanBeMerged) {
  write_file(folder_.file("1.json"), output("analyze --json"));
  const std::string other = folder_.file("2.json");
  write_file(other, run("RPCRDMA analyze --json " + sums_).out);
  const Result r = run("RPCRDMA merge " + folder_.file("1.json") + " " + other);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(has(r.out, "rules were not judged")) << r.out;
  EXPECT_TRUE(has(r.out, "connection 2, NFS v3 READ: 100 Calls, 98 Replies, 1 errors")) << r.out;
}

TEST_F(KernelRecording, SumsAreShownAndNotJudged) {
  const std::string text = run("RPCRDMA analyze " + sums_).out;
  EXPECT_TRUE(has(text, "Only sums were recorded, no messages: no rule was judged.")) << text;
  EXPECT_TRUE(has(text, "connection 1, NFS v3 READ: 100 Calls, 98 Replies, 1 errors; latency "))
      << text;
  EXPECT_TRUE(has(text, "3 waits for a credit, 5 ms in total")) << text;
  EXPECT_FALSE(has(text, "Healthy"));
}

TEST_F(KernelRecording, RulesSayFromWhatTheyAreJudged) {
  EXPECT_TRUE(has(run("RPCRDMA rules FC-01").out,
                  "judged     from packets, endpoint, kernel BPF, kernel tracepoints"));
  EXPECT_TRUE(
      has(run("RPCRDMA rules HDR-02").out, "judged     from packets, endpoint, kernel BPF\n"));
  const std::string list = run("RPCRDMA rules --source tracepoints").out;
  EXPECT_TRUE(has(list, "FC-01"));
  for (const char* const rule : {"HDR-0", "INL-0", "CMP-0", "RD-0", "WR-0", "OPS-0", "RNR"}) {
    EXPECT_FALSE(has(list, rule)) << list;
  }
  EXPECT_TRUE(has(run("RPCRDMA rules --json FC-04").out, R"("judged_from":["packets"])"));
}

}  // namespace
}  // namespace rpcrdma::e2e
