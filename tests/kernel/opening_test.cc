// Traces of the kernel opened as a user opens captures, and files that only look like traces.
#include "seen_messages.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <support/command.h>
#include <support/trace_dat_builder.h>

namespace rpcrdma::kernel_test {
namespace {

using e2e::read_file;
using e2e::run;
using e2e::TemporaryFolder;
using e2e::write_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kClient = fixture("k61-client.dat");
const std::string kServer = fixture("k61-server.dat.gz");

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(OpenTrace, AsAFileAndFromAPipe) {
  const auto file = run("RPCRDMA decode " + kClient);
  const auto pipe = run("cat " + kClient + " | RPCRDMA decode -");
  const auto compressed = run("gzip -c " + kClient + " | RPCRDMA decode -");
  EXPECT_EQ(file.status, 0) << file.err;
  EXPECT_EQ(pipe.status, 0) << pipe.err;
  EXPECT_EQ(compressed.status, 0) << compressed.err;
  EXPECT_GT(lines_of(file.out), 156U);
  EXPECT_EQ(lines_of(pipe.out), lines_of(file.out));
  EXPECT_EQ(lines_of(compressed.out), lines_of(file.out));
  EXPECT_THAT(file.out,
              HasSubstr("reply 0x379f4488 RDMA_NOMSG credit 64 reply 100 inv 0x00000c6c"));
}

TEST(OpenTrace, TextFromAPipe) {
  const auto r = run("gzip -dc " + fixture("k61-server.txt.gz") + " | RPCRDMA decode -");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("call 0x3b9f4488 RDMA_MSG credit 128"));
}

TEST(OpenTrace, ZstdToo) {
  const TemporaryFolder folder;
  const std::string bytes = read_file(kClient);
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1));
  write_file(folder.file("c.dat.zst"), packed);
  const auto seen = SeenMessages::read(folder.file("c.dat.zst"));
  EXPECT_EQ(seen.failure, "");
  EXPECT_EQ(seen.calls(), 78U);
}

TEST(OpenTrace, SeveralFilesAndACapture) {
  auto source = capture::open_files({kClient, kServer, fixture("k61-wire.pcap.gz")});
  ASSERT_TRUE(source) << source.error().message;
  SeenMessages seen;
  seen.read(**source);
  EXPECT_EQ(seen.failure, "");
  // The server's recorder saw 73 of the 78; each Call counts once.
  EXPECT_EQ(seen.calls(), 78U);
  EXPECT_EQ(seen.replies(), 78U);
  EXPECT_EQ(seen.connections.size(), 4U);
}

TEST(OpenTrace, OtherCommandsReadItToo) {
  const auto analysis = run("RPCRDMA analyze " + kClient);
  EXPECT_THAT(analysis.out, HasSubstr("made       78 Calls"));
  EXPECT_THAT(analysis.out, HasSubstr("52 Calls, 52 Replies"));
  EXPECT_THAT(run("RPCRDMA export --format qlog " + kServer).out, HasSubstr("1000293512"));
  EXPECT_EQ(run("RPCRDMA export --format perfetto " + kClient).status, 0);
}

TEST(OpenTrace, LostEventsStandInTheReport) {
  using test::EventFormat;
  const EventFormat reserve("xprt_reserve", 7, {{"task_id"}, {"client_id"}, {"xid"}});
  const EventFormat send("xprtrdma_post_send", 8,
                         {{"cq_id"}, {"completion_id"}, {"task_id"}, {"client_id"}});
  test::TraceDatBuilder b;
  b.systems = {{"sunrpc", {reserve.text()}}, {"rpcrdma", {send.text()}}};
  test::PagesBuilder pages;
  for (std::uint32_t i = 1; i < 9; ++i) {
    if (i == 5) pages.lose(1234);
    pages.add(i * 1000, reserve.record(1, {i, 0, i}));
    pages.add(i * 1000 + 1, send.record(1, {1, i, i, 0}));
  }
  b.buffers = {{pages.pages()}};
  const TemporaryFolder folder;
  const auto bytes = b.version6();
  write_file(folder.file("lost.dat"), std::string(bytes.begin(), bytes.end()));
  const auto seen = SeenMessages::read(folder.file("lost.dat"));
  EXPECT_EQ(seen.failure, "");
  EXPECT_EQ(seen.lost, 1234U);
  EXPECT_EQ(seen.calls(), 8U);
}

class BadTrace : public ::testing::Test {
 protected:
  // One line, and the status of a failure.
  void expect_failure(const std::string& bytes, const std::string& reason) {
    write_file(folder_.file("bad"), bytes);
    const auto r = run("RPCRDMA decode " + folder_.file("bad"));
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(lines_of(r.err), 1U) << r.err;
    EXPECT_THAT(r.err, StartsWith("rpcrdma: "));
    EXPECT_THAT(r.err, HasSubstr(folder_.file("bad") + ": "));
    EXPECT_THAT(r.err, HasSubstr(reason));
  }
  TemporaryFolder folder_;
};

TEST_F(BadTrace, TruncatedFiles) {
  const std::string whole = read_file(kClient);
  for (const std::size_t size : {10U, 12U, 20U, 100U, 1000U, 10000U, 30000U}) {
    expect_failure(whole.substr(0, size),
                   "the file is truncated: it ends before the tables that locate its events");
  }
}

TEST_F(BadTrace, FilesOfOtherVersions) {
  std::string other = read_file(kClient);
  other[10] = '9';
  expect_failure(other, "version 9 of trace.dat is not supported");
}

TEST_F(BadTrace, TextThatIsNone) {
  std::string text = "cpus=2\n";
  for (int i = 0; i < 300; ++i) text += "hello\n";
  write_file(folder_.file("text"), text);
  const auto r = run("RPCRDMA decode " + folder_.file("text"));
  EXPECT_THAT(r.err, HasSubstr("300 lines are not understood"));
}

TEST_F(BadTrace, EndlessInput) {
  const auto lines = run(R"((echo 'CPU:0 [x EVENTS'; yes hello) | RPCRDMA decode -)");
  EXPECT_EQ(lines.status, 2);
  EXPECT_THAT(lines.err, HasSubstr("neither a trace.dat nor the text"));
  const auto line = run(R"((echo 'CPU:0 [x EVENTS'; yes hello | tr -d '\n') | RPCRDMA decode -)");
  EXPECT_EQ(line.status, 2);
  EXPECT_THAT(line.err, HasSubstr("neither a trace.dat nor the text"));
  const auto dat = run(R"((printf '\027\010\104tracing7\000'; yes) | RPCRDMA decode -)");
  EXPECT_EQ(dat.status, 2);
  EXPECT_EQ(lines_of(dat.err), 1U) << dat.err;
}

TEST_F(BadTrace, FlippedBitsEndWithAStatus) {
  const std::string whole = read_file(kClient);
  for (std::size_t at = 0; at < whole.size(); at += 397) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write_file(folder_.file("bad"), flipped);
    const auto r = run("RPCRDMA decode " + folder_.file("bad"));
    EXPECT_TRUE(r.status == 0 || r.status == 2) << at << ": " << r.status;
    EXPECT_LE(lines_of(r.err), 1U) << r.err;
    EXPECT_THAT(r.err, ::testing::Not(HasSubstr("signal"))) << at;
  }
}

}  // namespace
}  // namespace rpcrdma::kernel_test
