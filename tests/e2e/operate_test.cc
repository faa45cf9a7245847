// `rpcrdma serve` as a service: its configuration file, its log, and what an operator asks of it by
// signals.
#include "support/background.h"
#include "support/own_address.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class Operate : public ::testing::Test {
 protected:
  const std::string server_ = own_address(1);
  const TemporaryFolder folder_;
  const std::string config_ = folder_.file("serve.conf");

  void SetUp() override { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  void configure(const std::string& more = {}) const {
    write_file(config_, "listen = '" + server_ + "'\nprovider = 'soft'\n" + more);
  }
  [[nodiscard]] std::vector<std::string> serve(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"serve", "--config", config_});
    return more;
  }
  [[nodiscard]] Result ping() const {
    return run("RPCRDMA ping " + server_ + " --from " + own_address(2) +
               " --provider soft --no-live --count 1");
  }
};

TEST_F(Operate, AFileConfiguresTheServer) {
  configure("credits = 7\nnull-program = ['nfs:3', 'nfs:4']\n");
  Background server(serve({"--credits", "9"}));
  ASSERT_TRUE(server.wait_for("NULL of NFS (program 0x186a3 version 4), 9 credits"));
  EXPECT_EQ(ping().status, 0);
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

TEST_F(Operate, AWrongFileIsRefusedWithItsLine) {
  const auto refused = [&](const std::string& more, const std::string& part) {
    configure(more);
    const Result r = run("RPCRDMA serve --config " + config_);
    EXPECT_EQ(r.status, 2) << more;
    EXPECT_THAT(r.err, StartsWith("rpcrdma: serve: --config " + config_ + ":3: ")) << more;
    EXPECT_THAT(r.err, HasSubstr(part)) << more;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  };
  refused("prot = 7\n", "prot: no such option of serve");
  refused("credits = many\n", "credits many: not a whole number");
  refused("log-format = xml\n", "log-format");
}

// docs/operate.md: the example has all options, and what serve prints is what it reads.
TEST_F(Operate, TheExampleHasAllOptions) {
  const std::string example = RPCRDMA_PACKAGING "/systemd/serve.conf";
  const Result r = run("RPCRDMA serve --config " + example + " --print-config");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, read_file(example)) << "write it again: rpcrdma serve --config FILE "
                                          "--print-config";
  const std::string written = folder_.file("written.conf");
  EXPECT_EQ(run("RPCRDMA serve --config " + example + " --write-config " + written).status, 0);
  EXPECT_EQ(read_file(written), r.out);
  // An existing file is not replaced.
  const Result again = run("RPCRDMA serve --config " + example + " --write-config " + written);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("File exists"));
}

TEST_F(Operate, HangupReadsTheFileAgain) {
  configure("max-connections = 2\n");
  Background server(serve());
  ASSERT_TRUE(server.wait_for("callback"));
  configure("max-connections = 2\nlog-level = 'info'\nmax-connections = 3\nport = 4711\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.wait_for("configuration read again: --max-connections changed\n"));
  ASSERT_TRUE(server.wait_for("a restart is needed for --port\n"));
  // It serves on its old port.
  EXPECT_EQ(ping().status, 0);
  configure("credits = 0\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.wait_for("error   --credits 0: not a number from 1 to 1024\n"));
  ASSERT_TRUE(server.wait_for("the configuration is not changed\n"));
  configure("nonsense\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.wait_for(config_ + ":3: not NAME = VALUE: nonsense"));
  configure("log-level = 'warning'\n");
  server.signal(SIGHUP);
  // At this level only the warning is left: --port is the default again.
  configure("log-level = 'info'\n");
  EXPECT_EQ(ping().status, 0);
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

// As when its terminal is closed.
TEST_F(Operate, WithoutAFileAHangupEndsIt) {
  Background server({"serve", "--listen", server_, "--provider", "soft"});
  ASSERT_TRUE(server.wait_for("callback"));
  server.signal(SIGHUP);
  EXPECT_EQ(server.finish(), 0) << server.out;
}

// Renames files as logrotate does.
TEST_F(Operate, Usr1OpensItsFilesAgain) {
  configure();
  const std::string log = folder_.file("log"), record = folder_.file("r.pcapng"),
                    packets = folder_.file("p.pcapng");
  Background server(serve({"--log-file", log, "--record", record, "--pcapng", packets}));
  const auto wait_for = [&](const std::string& text) {
    while (read_file(log).find(text) == std::string::npos) {
      if (::usleep(1000) != 0) return;
    }
  };
  wait_for("callback");
  ASSERT_EQ(ping().status, 0);
  wait_for("closed (peer)");
  for (const std::string& file : {log, record, packets}) {
    std::filesystem::rename(file, file + ".1");
  }
  server.signal(SIGUSR1);
  wait_for("events recorded, 0 lost, in the file that was " + record);
  ASSERT_EQ(ping().status, 0);
  wait_for("closed (peer)");
  // Nothing is overwritten: files that nobody has renamed stay as they are.
  server.signal(SIGUSR1);
  wait_for("--record " + record + ": the file has not been renamed");
  wait_for("--pcapng " + packets + ": the file has not been renamed");
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0) << server.out;
  EXPECT_THAT(read_file(log + ".1"),
              AllOf(HasSubstr("connection 1: "), Not(HasSubstr("connection 2: "))));
  EXPECT_THAT(read_file(log), AllOf(HasSubstr("connection 2: "), Not(HasSubstr("connection 1: "))));
  // Each file is whole, and has one of the two Calls.
  for (const std::string& file : {record, packets}) {
    for (const std::string part : {".1", ""}) {
      const Result r = run("RPCRDMA analyze " + file + part);
      EXPECT_EQ(r.status, 0) << file << part << r.err;
      EXPECT_EQ(r.err, "") << file << part;
      EXPECT_THAT(r.out, ContainsRegex("(^|[^0-9])1 Call[, ]")) << file << part;
    }
  }
}

TEST_F(Operate, EachLineOfTheLogHasTimeAndLevel) {
  configure();
  Background server(serve());
  ASSERT_TRUE(server.wait_for("callback"));
  ASSERT_EQ(ping().status, 0);
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0);
  std::istringstream lines(server.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z "
                                   "(info   |warning|error  ) .*"));
  }
}

TEST_F(Operate, TheLogIsJson) {
  configure("log-format = 'json'\n");
  Background server(serve());
  ASSERT_TRUE(server.wait_for("callback"));
  ASSERT_EQ(ping().status, 0);
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0);
  std::istringstream lines(server.out);
  int connected = 0;
  for (std::string line; std::getline(lines, line);) {
    const json object = json::parse(line, nullptr, false);
    ASSERT_TRUE(object.is_object()) << line;
    EXPECT_TRUE(object["time"].is_string() && object["message"].is_string()) << line;
    EXPECT_THAT(object["level"].get<std::string>(), MatchesRegex("info|warning|error"));
    if (object.contains("connection")) {
      EXPECT_EQ(object["connection"], 1);
      EXPECT_EQ(object["peer"], own_address(2));
      ++connected;
    }
  }
  EXPECT_EQ(connected, 2) << server.out;
}

// systemd names the journal's pipe in the environment; here it is a file.
TEST_F(Operate, TheJournalGetsPriorities) {
  const std::string journal = folder_.file("journal");
  write_file(journal, "");
  configure();
  const Result r =
      run("exec >>" + journal + " 2>&1; JOURNAL_STREAM=$(stat -c %d:%i " + journal +
          ") " RPCRDMA_COMMAND " serve --config " + config_ +
          " --max-connections 1 & server=$!; "
          "until grep -q callback " +
          journal +
          " || ! kill -0 $server; do sleep 0.02; done; "
          "RPCRDMA ping " +
          server_ + " --from " + own_address(2) +
          " --provider soft --no-live --count 1 --inline 1Ki >" + folder_.file("ping") +
          "; kill -TERM $server; wait $server; "
          "JOURNAL_STREAM=$(stat -c %d:%i " +
          journal + ") " RPCRDMA_COMMAND " serve --listen nonsense");
  EXPECT_EQ(r.status, 2);
  const std::string lines = read_file(journal);
  EXPECT_THAT(lines, StartsWith("<6>listening on " + server_)) << lines;
  EXPECT_THAT(lines, HasSubstr("\n<6>connection 1: "));
  EXPECT_THAT(lines, HasSubstr("\n<3>rpcrdma: serve: --listen"));
}

TEST_F(Operate, ALevelLeavesLinesOut) {
  configure("log-level = 'error'\nlog-file = '" + folder_.file("log") + "'\n");
  Background server(serve());
  // There is no line to wait for: it is ready when it answers.
  while (ping().status != 0) {
  }
  server.signal(SIGTERM);
  EXPECT_EQ(server.finish(), 0);
  EXPECT_EQ(read_file(folder_.file("log")), "");
  EXPECT_EQ(server.out, "");
}

TEST_F(Operate, ALogThatCannotBeOpenedIsRefused) {
  configure();
  const Result r = run("RPCRDMA serve --config " + config_ + " --log-file " + folder_.path());
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("--log-file " + folder_.path() + ": Is a directory"));
}

TEST_F(Operate, AReaderOfTheLogThatGoesDoesNotEndIt) {
  configure();
  const std::string pipe = folder_.file("pipe");
  const Result r = run("mkfifo " + pipe + "; head -1 <" + pipe +
                       " & reader=$!; " RPCRDMA_COMMAND " serve --config " + config_ + " >" + pipe +
                       " & server=$!; wait $reader; " +
                       // The reader is gone: the next lines have nowhere to go.
                       "for i in 1 2 3; do RPCRDMA ping " + server_ + " --from " + own_address(2) +
                       " --provider soft --no-live --count 1 >/dev/null || exit 9; done; "
                       "kill -TERM $server; wait $server");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, HasSubstr("listening on " + server_));
}

// As far as it is installed here: systemd reads the unit, and finds nothing to complain of but the
// program, which is not in /usr/bin.
TEST_F(Operate, SystemdAcceptsTheUnit) {
  const std::string unit = folder_.file("rpcrdma-serve.service");
  std::string text = read_file(RPCRDMA_PACKAGING "/systemd/rpcrdma-serve.service");
  const std::string program = "/usr/bin/rpcrdma";
  for (std::size_t at = 0; (at = text.find(program, at)) != std::string::npos;) {
    text.replace(at, program.size(), RPCRDMA_COMMAND);
  }
  write_file(unit, text);
  const Result r = run("systemd-analyze verify --man=no " + unit);
  EXPECT_THAT(r.out + r.err, Not(HasSubstr("rpcrdma-serve.service:"))) << r.out << r.err;
}

}  // namespace
}  // namespace rpcrdma::e2e
