// Arguments, exit statuses and error messages.
#include "support/command.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rpcrdma::e2e {
namespace {

// Expects one clear line on stderr and status 2.
void expect_refused(const std::string& shell, const std::string& part) {
  const Result r = run(shell);
  EXPECT_EQ(r.status, 2) << shell;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");
}

TEST(Usage, BadArgumentsGiveOneLine) {
  expect_refused("RPCRDMA", "subcommand");
  expect_refused("RPCRDMA nonsense", "nonsense");
  expect_refused("RPCRDMA decode", "FILE");
  expect_refused("RPCRDMA decode --frob " + capture("linux-nfs3.pcap"), "--frob");
  expect_refused("RPCRDMA capture", "-i");
  expect_refused("RPCRDMA capture -i lo --duration soon", "--duration soon");
  expect_refused("RPCRDMA capture -i lo --max-bytes 5x", "--max-bytes 5x");
  expect_refused("RPCRDMA capture -i lo --ring-size 1M", "-w FILE");
  expect_refused("RPCRDMA capture -i lo -w x --ring-files 2", "--ring-size or --ring-time");
  expect_refused("RPCRDMA capture -i lo -w - --print", "standard output");
  expect_refused("RPCRDMA capture -i lo -w x -Y nfs", "--print");
  expect_refused("RPCRDMA capture -i lo --user no-such-user", "no-such-user");
  expect_refused("RPCRDMA analyze", "FILE");
  expect_refused("RPCRDMA decode --xid zzz " + capture("linux-nfs3.pcap"), "--xid");
  expect_refused("RPCRDMA decode --from yesterday " + capture("linux-nfs3.pcap"), "--from");
  expect_refused("RPCRDMA decode --type RDMA_MSGX " + capture("linux-nfs3.pcap"), "RDMA_MSGX");
  expect_refused("RPCRDMA extract --kind other " + capture("linux-nfs3.pcap"), "other");
  expect_refused("RPCRDMA header xyz", "hexadecimal");
  expect_refused("RPCRDMA header 012", "hexadecimal");
}

TEST(Usage, BadArgumentsSayWhereToReadMore) {
  EXPECT_EQ(run("RPCRDMA decode --frob x").err,
            "rpcrdma: decode: --frob: no such option (see `rpcrdma decode --help`)\n");
  EXPECT_EQ(run("RPCRDMA analyze -j many x").err,
            "rpcrdma: analyze: --jobs many: not a whole number, or too large (see `rpcrdma analyze "
            "--help`)\n");
  EXPECT_EQ(run("RPCRDMA nonsense").err,
            "rpcrdma: nonsense: no such command (see `rpcrdma --help`)\n");
}

TEST(Usage, AFullDiskIsReportedAndAReaderWhoHasGoneIsNot) {
  const TemporaryFolder folder;
  const std::string file = capture("linux-nfs41.pcap");
  run("RPCRDMA analyze --json " + file + " > " + folder.file("report"));
  for (const std::string& command :
       {"decode " + file, "decode --json " + file, "analyze " + file, "analyze --json " + file,
        "merge " + folder.file("report"), "extract -d " + folder.file("out") + " " + file,
        std::string("rules"), std::string("fields"), std::string("man decode"),
        std::string("completion bash"), std::string("--help")}) {
    const Result full = run("RPCRDMA " + command + " > /dev/full");
    EXPECT_EQ(full.status, 2) << command;
    EXPECT_EQ(std::count(full.err.begin(), full.err.end(), '\n'), 1) << command << full.err;
    EXPECT_EQ(run("RPCRDMA " + command + " | head -c 1 > /dev/null").err, "") << command;
  }
}

TEST(Usage, UnreadableFilesGiveOneLine) {
  for (const char* command : {"decode", "analyze", "extract"}) {
    expect_refused(std::string("RPCRDMA ") + command + " /nonexistent/file.pcap", "No such file");
    expect_refused(std::string("RPCRDMA ") + command + " /dev/null", "/dev/null");
    expect_refused(std::string("RPCRDMA ") + command + " /", "irectory");
  }
  const TemporaryFolder folder;
  write_file(folder.file("text"), "this is no capture file, is it?\n");
  expect_refused("RPCRDMA analyze " + folder.file("text"), "text");
}

TEST(Usage, HeaderDecodesAndShowsMalformed) {
  // ERR_CHUNK: xid 1, version 1, credit 32, RDMA_ERROR, ERR_CHUNK.
  const Result good = run("RPCRDMA header 00000001 00000001 00000020 00000004 00000002");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_NE(good.out.find("ERR_CHUNK"), std::string::npos) << good.out;
  // Type 9 does not exist.
  const Result bad = run("RPCRDMA header 00000001000000010000002000000009");
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.out.find("HDR-05"), std::string::npos) << bad.out;
  const Result piped =
      run("echo 0x00000001 00:00:00:01 00000020 00000004 00000002 | RPCRDMA header -");
  EXPECT_EQ(piped.out, good.out);
}

TEST(Usage, AHeaderWithoutItsRpcMessageIsWellFormed) {
  // Version 1, RDMA_MSG, one Read segment: position 0x80, handle, length, offset.
  const Result r =
      run("RPCRDMA header --json 00000001 00000001 00000020 00000000 00000001 00000080 0000abcd "
          "00001000 00000000 00002000 00000000 00000000 00000000");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_NE(r.out.find("\"rpcrdma.segment.length\":4096"), std::string::npos) << r.out;
}

TEST(Usage, HelpAndVersion) {
  EXPECT_EQ(run("RPCRDMA --version").status, 0);
  for (const char* command : {"", "decode", "analyze", "extract", "header", "fields"}) {
    const Result r = run(std::string("RPCRDMA ") + command + " --help");
    EXPECT_EQ(r.status, 0);
    EXPECT_NE(r.out.find("Usage"), std::string::npos);
  }
}

TEST(Usage, NoColoursIntoAFile) {
  const Result r = run("RPCRDMA analyze " + capture("linux-nfs41.pcap") + "; RPCRDMA decode " +
                       capture("linux-nfs41.pcap"));
  EXPECT_EQ(r.out.find('\033'), std::string::npos);
}

TEST(Usage, ColoursOnATerminalUnlessNoColor) {
  const std::string command = "RPCRDMA decode " + capture("linux-nfs41.pcap");
  const std::string inner = std::string(RPCRDMA_COMMAND) + " decode " + capture("linux-nfs41.pcap");
  EXPECT_NE(run("TERM=xterm script -qec '" + inner + "' /dev/null").out.find('\033'),
            std::string::npos);
  EXPECT_EQ(run("TERM=xterm NO_COLOR=1 script -qec '" + inner + "' /dev/null").out.find('\033'),
            std::string::npos);
}

TEST(Usage, FullDiskIsReported) {
  expect_refused("RPCRDMA extract " + capture("linux-nfs3.pcap") + " -d /proc/nowhere", "/proc");
}

}  // namespace
}  // namespace rpcrdma::e2e
