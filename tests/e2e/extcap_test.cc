// rpcrdma-extcap as Wireshark runs it, and with the real tshark, on running endpoints.
#include "support/background.h"
#include "support/event_stream.h"
#include "support/own_address.h"

#include <thread>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Result extcap(const std::string& options) {
  return run(RPCRDMA_EXTCAP_PROGRAM " " + options);
}

class ExtcapLive : public trace::OwnRuntime {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);

  [[nodiscard]] std::vector<std::string> serving(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"serve", "--listen", server_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void load() const {
    const Result r = run("RPCRDMA load " + server_ + " --from " + client_ +
                         " --no-live --procedure mix --size 1-20000 --count 100 --depth 4");
    EXPECT_EQ(r.status, 0) << r.err;
  }
  // The interface of the only endpoint; `suffix` ".packets" for its packets.
  static std::string interface(const std::string& suffix = {}) {
    const auto endpoints = trace::list_endpoints();
    EXPECT_TRUE(endpoints && endpoints->size() == 1);
    const auto& e = endpoints->front();
    return "rpcrdma." + e.name + '.' + std::to_string(e.process) + suffix;
  }

  // Plays Wireshark: creates a pipe, starts the program, and saves its output in a file.
  class Capture {
   public:
    Capture(const std::string& file, const std::string& interface,
            const std::vector<std::string>& options = {})
        : file_(file), fifo_(file + ".fifo") {
      EXPECT_EQ(::mkfifo(fifo_.c_str(), 0600), 0);
      std::vector<std::string> all{"--capture", "--extcap-interface", interface, "--fifo", fifo_};
      all.insert(all.end(), options.begin(), options.end());
      program_.emplace(all, "", RPCRDMA_EXTCAP_PROGRAM);
      copy_.emplace(std::vector<std::string>{fifo_}, file_, "/bin/cat");
      // From its first block on, the file holds all events.
      while (read_file(file_).empty()) std::this_thread::yield();
    }
    void signal(int number) const { program_->signal(number); }
    // Returns the program's exit status.
    int finish() {
      const int status = program_->finish();
      EXPECT_EQ(program_->out, "");
      EXPECT_EQ(copy_->finish(), 0);
      return status;
    }
    void stop_reading() { copy_.reset(); }

   private:
    const std::string file_, fifo_;
    std::optional<Background> program_, copy_;
  };

  static json analyzed(const std::string& file) {
    return try_parse_json(run("RPCRDMA analyze --json " + file).out);
  }
  static void stop(Background& server) {
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
};

TEST_F(ExtcapLive, EndpointsAreInterfaces) {
  Result r = extcap("--extcap-interfaces --extcap-version=4.0");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, MatchesRegex("extcap [^\n]+\n"
                                  "interface .value=rpcrdma.kernel..display=Linux NFS/RDMA "
                                  ".kernel..\n"));
  Background server(serving({"--name", "nfsd"}));
  ASSERT_TRUE(server.wait_for("listening"));
  r = extcap("--extcap-interfaces");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("interface {value=" + interface() +
                               "}{display=RPC-over-RDMA events of nfsd: server on " + server_));
  EXPECT_THAT(r.out, HasSubstr("interface {value=" + interface(".packets") +
                               "}{display=RoCEv2 packets of nfsd: server on " + server_));
  r = extcap("--extcap-interface " + interface() + " --extcap-dlts");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("dlt {number=252}"));
  r = extcap("--extcap-interface=" + interface(".packets") + " --extcap-config");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("{call=--snaplen}"));
  EXPECT_THAT(extcap("--extcap-interface " + interface() + " --extcap-capture-filter 'rpc'").out,
              HasSubstr("no capture filters"));
  stop(server);
}

// A fake kernel beside a copy of the program: see fake_kernel.cc.
TEST_F(ExtcapLive, TheKernelIsStartedForACapture) {
  ::setenv("RPCRDMA_FAKE_KERNEL", ("ends,events=" + capture("linux-nfs41.pcap")).c_str(), 1);
  const std::string fifo = path("kernel.fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  Background copy({fifo}, path("kernel.pcapng"), "/bin/cat");
  Background program({"--capture", "--extcap-interface", "rpcrdma.kernel", "--fifo", fifo}, {},
                     RPCRDMA_FAKE_KERNEL_EXTCAP);
  EXPECT_EQ(program.finish(), 0) << program.out;
  EXPECT_EQ(copy.finish(), 0);
  EXPECT_GT(analyzed(path("kernel.pcapng"))["connections"][0]["calls"], 20);
  ::setenv("RPCRDMA_FAKE_KERNEL", "refused", 1);
  const Result refused =
      run(RPCRDMA_FAKE_KERNEL_EXTCAP " --capture --extcap-interface rpcrdma.kernel --fifo " + fifo);
  ::unsetenv("RPCRDMA_FAKE_KERNEL");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("rpcrdma-extcap: cannot trace the kernel: the kernel refuses"));
}

// The same Calls, as events and as packets.
TEST_F(ExtcapLive, EventsAndPacketsOfARunAgree) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Capture events(path("events.pcapng"), interface());
  Capture packets(path("packets.pcapng"), interface(".packets"));
  load();
  stop(server);
  EXPECT_EQ(events.finish(), 0);
  EXPECT_EQ(packets.finish(), 0);
  const json recorded = analyzed(path("events.pcapng"));
  const json seen = analyzed(path("packets.pcapng"));
  for (const json& report : {recorded, seen}) {
    EXPECT_EQ(report["capture_quality"]["complete"], true) << report["capture_quality"];
    ASSERT_EQ(report["connections"].size(), 1U);
    EXPECT_EQ(report["connections"][0]["calls"], 100);
    EXPECT_EQ(report["connections"][0]["replies"], 100);
  }
  EXPECT_EQ(recorded["connections"][0]["chunks"], seen["connections"][0]["chunks"]);
  EXPECT_EQ(recorded["recording"]["lost"], 0);
  EXPECT_EQ(recorded["recording"]["missing"], 0);
  EXPECT_EQ(seen["packets"]["icrc_bad"], 0);
}

TEST_F(ExtcapLive, WhatIsCutIsCalledCutAndNotMalformed) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  Capture events(path("events.pcapng"), interface(), {"--snaplen", "20"});
  Capture packets(path("packets.pcapng"), interface(".packets"), {"--snaplen=200"});
  load();
  stop(server);
  EXPECT_EQ(events.finish(), 0);
  EXPECT_EQ(packets.finish(), 0);
  for (const char* const file : {"events.pcapng", "packets.pcapng"}) {
    const json report = analyzed(path(file));
    ASSERT_EQ(report["connections"].size(), 1U) << file;
    EXPECT_GT(report["connections"][0]["truncated"], 0) << file;
    EXPECT_EQ(report["connections"][0]["malformed"], 0) << file;
    EXPECT_EQ(report["capture_quality"]["damaged"], false) << file;
    EXPECT_EQ(run("RPCRDMA analyze " + path(file)).status, 0) << file;
  }
  const Result decoded = run("RPCRDMA decode " + path("events.pcapng"));
  EXPECT_THAT(decoded.out, HasSubstr("(the recording has only the start of its header)"));
  EXPECT_THAT(decoded.out, Not(HasSubstr("malformed")));
}

// The absence of an excluded event is not evidence.
TEST_F(ExtcapLive, WhatIsLeftOutIsNotJudged) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const std::vector<std::string> choices{"messages", "operations", "messages,calls", "credits", ""};
  std::vector<std::unique_ptr<Capture>> captures;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    captures.push_back(std::make_unique<Capture>(path(std::to_string(i) + ".pcapng"), interface(),
                                                 std::vector<std::string>{"--events", choices[i]}));
  }
  load();
  stop(server);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    SCOPED_TRACE(choices[i]);
    EXPECT_EQ(captures[i]->finish(), 0);
    const json report = analyzed(path(std::to_string(i) + ".pcapng"));
    EXPECT_EQ(report["recording"]["missing"], 0);
    EXPECT_FALSE(report["recording"]["excluded"].empty());
    EXPECT_THAT(run("RPCRDMA decode --events " + path(std::to_string(i) + ".pcapng")).out,
                HasSubstr("Excluded \""));
    EXPECT_EQ(report["connections"].size(), 1U);
    EXPECT_EQ(report["connections"][0]["operations_unseen"], true);
    EXPECT_EQ(report["capture_quality"]["complete"], false);
    for (const json& finding : report["findings"]) {
      EXPECT_EQ(finding["severity"], "note") << finding;
      EXPECT_NE(finding["rule"], "SLOW-PEER") << finding;
    }
  }
}

TEST_F(ExtcapLive, EndsWithWiresharkThoughNothingComes) {
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  for (const char* const suffix : {"", ".packets"}) {
    Capture gone(path("gone.pcapng" + std::string(suffix)), interface(suffix));
    gone.stop_reading();
    Capture ended(path("ended.pcapng" + std::string(suffix)), interface(suffix));
    ended.signal(SIGTERM);
    EXPECT_EQ(ended.finish(), 0);
    const json report = analyzed(path("ended.pcapng" + std::string(suffix)));
    EXPECT_EQ(report["capture_quality"]["damaged"], false);
  }
  stop(server);
}

TEST_F(ExtcapLive, AnErrorIsOneLine) {
  const auto refused = [](const std::string& options, const std::string& why) {
    const Result r = extcap(options);
    EXPECT_EQ(r.status, 1) << options;
    EXPECT_EQ(r.out, "") << options;
    EXPECT_THAT(r.err, testing::AllOf(testing::StartsWith("rpcrdma-extcap: "), HasSubstr(why)));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  };
  refused("", "--help");
  refused("--nonsense", "nonsense");
  refused("--extcap-dlts", "--extcap-interface");
  refused("--extcap-interface eth0 --extcap-dlts", "eth0");
  refused("--extcap-interface rpcrdma.x.1 --capture", "--fifo");
  refused("--extcap-interface rpcrdma.x.1 --capture --fifo x", "rpcrdma.x.1: no endpoint");
  refused("--extcap-interface rpcrdma.x.1 --capture --fifo x --events all", "all: not a kind");
  refused("--extcap-interface rpcrdma.x.1 --capture --fifo x --snaplen -1", "snaplen");
  refused("--extcap-interface rpcrdma.x.1 --capture --fifo x --extcap-capture-filter rpc",
          "no capture filters");
}

// As root, tshark runs such programs only from its own folder, so the test uses another user in a
// user namespace, which needs no privileges.
std::vector<std::string> as_a_user(std::vector<std::string> command) {
  if (::geteuid() != 0) return command;
  command.insert(command.begin(), {"unshare", "--user", "--map-user=1000", "--map-group=1000"});
  return command;
}

TEST_F(ExtcapLive, TsharkCapturesFromAnEndpoint) {
  const std::string folder = std::filesystem::path(RPCRDMA_EXTCAP_PROGRAM).parent_path();
  const std::vector<std::string> tshark{"env", "WIRESHARK_EXTCAP_DIR=" + folder, "HOME=" + folder_,
                                        "tshark"};
  const auto with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = as_a_user(tshark);
    command.insert(command.end(), options.begin(), options.end());
    return command;
  };
  const auto start = [](const std::vector<std::string>& command) {
    return std::make_unique<Background>(
        std::vector<std::string>(command.begin() + 1, command.end()), "", command.front());
  };
  Background server(serving());
  ASSERT_TRUE(server.wait_for("listening"));
  const auto list = start(with({"-D"}));
  EXPECT_EQ(list->finish(), 0) << list->out;
  EXPECT_THAT(list->out, HasSubstr(interface() + " (RPC-over-RDMA events of serve: server on"));
  EXPECT_THAT(list->out, HasSubstr(interface(".packets") + " (RoCEv2 packets of serve: server on"));
  const auto capture =
      start(with({"-i", interface(), "-n", "-l", "-T", "fields", "-e", "frame.number"}));
  ASSERT_TRUE(capture->wait_for("\n1\n")) << capture->out;
  load();
  stop(server);
  EXPECT_EQ(capture->finish(), 0) << capture->out;
  // At least the Messages of its Calls.
  EXPECT_THAT(capture->out, HasSubstr("\n200\n"));
  EXPECT_THAT(capture->out, Not(HasSubstr("rpcrdma-extcap:")));
}

}  // namespace
}  // namespace rpcrdma::e2e
