// Names of files, endpoints and arguments with terminal control sequences: no command prints them
// raw.
#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/trace_builder.h"

#include <algorithm>
#include <cstddef>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/live/hub.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::HasSubstr;

// Sets a title, clears the screen, CSI as one byte and in UTF-8, DEL, and a forged line.
const std::string kHostile =
    "a\x1b]0;owned\x07\x1b[2J\x9b"
    "31m\xc2\x9b"
    "2J\x7f\r\nrpcrdma: fine.pcap";

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

// No control characters except line ends: none of ASCII, none of C1 in UTF-8, and no byte outside
// UTF-8, which a terminal with another character set could interpret as C1.
bool is_harmless(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      if (c != '\n' && (c < ' ' || c == 0x7f)) return false;
      continue;
    }
    const std::size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    if (c < 0xc2 || i + more >= text.size()) return false;
    for (std::size_t n = 1; n <= more; ++n) {
      if ((static_cast<unsigned char>(text[i + n]) & 0xc0U) != 0x80) return false;
    }
    if (c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;
    i += more;
  }
  return true;
}

void expect_harmless(const std::string& shell) {
  const Result r = run(shell);
  EXPECT_TRUE(is_harmless(r.err)) << shell << '\n' << r.err;
  EXPECT_TRUE(is_harmless(r.out)) << shell << '\n' << r.out;
  EXPECT_THAT(r.err + r.out, ::testing::Not(HasSubstr("\nrpcrdma: fine")));
}

class HostileNames : public ::testing::Test {
 protected:
  HostileNames() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~HostileNames() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  TemporaryFolder folder_;
};

TEST_F(HostileNames, AFileThatCannotBeRead) {
  const std::string garbage = folder_.file(kHostile);
  write_file(garbage, "no capture");
  const std::string missing = folder_.file("no " + kHostile);
  for (const std::string& path : {garbage, missing}) {
    const std::string compare = "compare " + capture("linux-nfs41.pcap");
    for (const std::string& command :
         {std::string("decode"), std::string("analyze"), std::string("extract -d out"),
          std::string("export --format qlog"), std::string("export --format perfetto"),
          std::string("merge"), compare}) {
      std::string line = "cd " + folder_.path();
      line += " && RPCRDMA " + command + ' ' + quoted(path);
      expect_harmless(line);
      const Result r = run(line);
      EXPECT_EQ(r.status, 2) << line;
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
      EXPECT_THAT(r.err,
                  HasSubstr("a\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\xc2\\x9b2J\\x7f\\x0d\\x0a"));
    }
  }
}

TEST_F(HostileNames, ADamagedFileAmongSeveral) {
  const std::string bytes = read_file(capture("linux-nfs41.pcap"));
  const std::string cut = folder_.file(kHostile);
  write_file(cut, bytes.substr(0, bytes.size() - 7));
  const std::string both = quoted(cut) + ' ' + capture("linux-nfs3.pcap");
  for (const std::string& files : {quoted(cut), both}) {
    for (const char* command : {"decode", "analyze", "analyze --all", "analyze --json",
                                "extract -d out", "export --format perfetto"}) {
      expect_harmless("cd " + folder_.path() + " && RPCRDMA " + command + ' ' + files);
    }
  }
  EXPECT_THAT(run("RPCRDMA analyze " + both).out, HasSubstr("\\x1b[2J"));
}

TEST_F(HostileNames, AFileThatCannotBeWritten) {
  write_file(folder_.file("file"), "");
  const std::string path = quoted(folder_.file("file/" + kHostile));
  const std::string file = capture("linux-nfs3.pcap");
  for (const std::string& command : {"analyze --html " + path, "analyze --csv " + path,
                                     "export --format qlog -o " + path, "extract -d " + path}) {
    expect_harmless("RPCRDMA " + command + ' ' + file);
  }
  const std::string own = own_address(1);
  for (const std::string& command :
       {"serve --listen " + own + " --record " + path,
        "serve --listen " + own + " --pcapng " + path,
        "load " + own_address(2) + " --from " + own + " --record " + path, "man -d " + path,
        "attach x -w " + path, "call " + own_address(2) + " --from " + own + " --pcapng " + path}) {
    expect_harmless("RPCRDMA " + command);
  }
}

TEST_F(HostileNames, AFileThatIsWritten) {
  const std::string file = capture("linux-nfs3.pcap");
  const auto named = [this](const std::string& what) {
    return quoted(folder_.file(what + ' ' + kHostile));
  };
  for (const std::string& command :
       {"analyze " + file + " --html " + named("html"),
        "analyze " + file + " --csv " + named("csv"),
        "export --format qlog -o " + named("qlog") + ' ' + file,
        "extract -d " + named("d") + ' ' + file,
        "compare --html " + named("compared") + ' ' + file + ' ' + file, "man -d " + named("man"),
        "ls --sd " + named("sd.json"), "analyze-many --out " + named("many") + ' ' + file,
        "analyze-many --plan --out " + named("plan") + ' ' + file}) {
    expect_harmless("RPCRDMA " + command);
  }
  const std::string own = own_address(1);
  for (const std::string& option : {std::string("--record "), std::string("--pcapng ")}) {
    expect_harmless("RPCRDMA ping " + own_address(2) + " --from " + own + " -c 1 -W 10ms " +
                    option + named("ping"));
  }
  auto hub = trace::Hub::start({.name = "plain", .role = "server"});
  ASSERT_TRUE(hub) << hub.error().message;
  ASSERT_TRUE((*hub)->open_socket());
  const std::string kept = folder_.file("kept " + kHostile);
  Background whole({"attach", "plain", "-w", kept});
  ASSERT_TRUE(whole.wait_for("attached to plain"));
  Background ring({"attach", "plain", "-w", kept + "2", "--ring-size", "1M"});
  ASSERT_TRUE(ring.wait_for("attached to plain"));
  (*hub)->stop();
  EXPECT_EQ(whole.finish(), 0);
  EXPECT_EQ(ring.finish(), 0);
  EXPECT_TRUE(is_harmless(whole.out)) << whole.out;
  EXPECT_TRUE(is_harmless(ring.out)) << ring.out;
}

TEST_F(HostileNames, ALog) {
  const std::string own = own_address(1);
  Background server({"serve", "--listen", own, "--record", folder_.file("r " + kHostile),
                     "--log-level", "debug"});
  ASSERT_TRUE(server.wait_for("listening")) << server.out;
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 0) << server.out;
  EXPECT_TRUE(is_harmless(server.out)) << server.out;
}

TEST_F(HostileNames, AnArgument) {
  const std::string name = quoted(kHostile);
  const std::string file = capture("linux-nfs3.pcap");
  for (const std::string& command : {name,
                                     "decode --" + name,
                                     "decode " + file + " -Y " + name,
                                     "decode --xid " + name + ' ' + file,
                                     "decode --from " + name + ' ' + file,
                                     "decode --type " + name + ' ' + file,
                                     "decode --v2-dialect " + name + ' ' + file,
                                     "analyze -j " + name + ' ' + file,
                                     "analyze --profile " + name + ' ' + file,
                                     "capture -i " + name,
                                     "capture -i lo --duration " + name,
                                     "capture -i lo --user " + name,
                                     "attach " + name,
                                     "attach /" + name,
                                     "top --once " + name,
                                     "rules " + name,
                                     "man " + name,
                                     "fields " + name,
                                     "completion " + name,
                                     "ping " + name,
                                     "load " + name,
                                     "serve --listen " + name,
                                     "call " + name,
                                     "nfs-probe " + name,
                                     "doctor " + name,
                                     "header " + name,
                                     "selftest " + name,
                                     "ls " + name,
                                     "serve --fault " + name,
                                     "serve --metrics " + name,
                                     "serve --inline " + name,
                                     "load --rate " + name + " 127.0.0.1",
                                     "load --procedure " + name + " 127.0.0.1",
                                     "ping --program " + name + " 127.0.0.1"}) {
    expect_harmless("RPCRDMA " + command);
    EXPECT_NE(run("RPCRDMA " + command).status, 0) << command;
  }
}

TEST_F(HostileNames, AnEndpoint) {
  const std::string name = "nf\x1b[31msd\xc2\x9b\x7f";
  auto hub = trace::Hub::start({.name = name, .role = "server\x1b[2J\r\nof mine"});
  ASSERT_TRUE(hub) << hub.error().message;
  ASSERT_TRUE((*hub)->open_socket());
  expect_harmless("RPCRDMA ls");
  expect_harmless("RPCRDMA ls --json");
  expect_harmless("RPCRDMA top --once --seconds 0.2");
  // A tab precedes a word's description.
  std::string completed = run("RPCRDMA complete attach ''").out;
  std::replace(completed.begin(), completed.end(), '\t', ' ');
  EXPECT_TRUE(is_harmless(completed)) << completed;
  EXPECT_THAT(run("RPCRDMA ls").out, HasSubstr("nf\\x1b[31msd"));
  Background reader({"attach", name, "--events"});
  ASSERT_TRUE(reader.wait_for("attached to nf\\x1b[31msd"));
  (*hub)->stop();
  EXPECT_EQ(reader.finish(), 0);
  EXPECT_TRUE(is_harmless(reader.out)) << reader.out;
}

TEST_F(HostileNames, ARecording) {
  trace_reader::testing::TraceBuilder trace;
  trace.begin("x\x1b[31m\xc2\x9b", "role\x1b[2J\r\n");
  trace_reader::testing::emit_plain_connection(trace, 7);
  trace.emit(7, trace::Error{},
             trace_reader::testing::bytes_of("bad\x1b[31m\x9b"
                                             "31m\xc2\x9b"));
  trace::ConnectionEnd end;
  end.established = end.failed = 1;
  trace.emit(7, end, trace_reader::testing::bytes_of("gone\x1b[31m\xc2\x9b")).end();
  const auto bytes = trace.pcapng();
  write_file(folder_.file("recording"), {bytes.begin(), bytes.end()});
  for (const char* command : {"decode --events", "decode --events -v", "analyze --all"}) {
    expect_harmless(std::string("RPCRDMA ") + command + ' ' + folder_.file("recording"));
  }
}

TEST_F(HostileNames, AReportOfSomebodyElse) {
  run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap") + " > " + folder_.file("report"));
  nlohmann::json report = parse_json(read_file(folder_.file("report")));
  ASSERT_FALSE(report["findings"].empty());
  const std::string hostile = "x\x1b[31m\xc2\x9b\r\n";
  report["capture"]["damage"] = hostile;
  for (auto& finding : report["findings"]) finding["text"] = hostile;
  write_file(folder_.file("report"), report.dump());
  expect_harmless("RPCRDMA merge --all " + folder_.file("report"));
  EXPECT_THAT(run("RPCRDMA merge --all " + folder_.file("report")).out, HasSubstr("x\\x1b[31m"));
}

}  // namespace
}  // namespace rpcrdma::e2e
