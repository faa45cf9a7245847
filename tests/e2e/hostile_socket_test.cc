// Commands that read live sockets, with a peer that is not an endpoint: each ends soon with one
// clear line, uses little memory, and prints nothing raw.
#include "support/command.h"
#include "support/event_sender.h"
#include "support/event_stream.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using trace::Sender;

class HostileSocket : public trace::OwnRuntime {
 protected:
  static std::vector<std::uint8_t> endpoint(const std::string& name, const std::string& role) {
    trace::Endpoint event;
    event.name_bytes = static_cast<std::uint16_t>(name.size());
    event.since = 1'800'000'000'000'000'000;
    event.process = 4711;
    const std::string tail = name + role;
    return trace::joined(
        trace::head(),
        trace::event_block(trace::make_event(
            0, 1, event, {reinterpret_cast<const std::uint8_t*>(tail.data()), tail.size()})));
  }
  // Returns the last line that `attach` with these options prints when it ends by itself.
  std::string refusal(const std::string& options) const {
    const Result r = run("RPCRDMA attach evil " + options + " | head -c 1000000");
    EXPECT_EQ(run("RPCRDMA attach evil " + options + " >" + path("out")).status, 2) << options;
    EXPECT_LT(std::filesystem::file_size(path("out")), std::size_t{4} << 20) << options;
    const std::string err = r.err.substr(0, r.err.find_last_not_of('\n') + 1);
    return err.substr(err.rfind('\n') + 1);
  }
  // Checks the output of all commands.
  static void expect_nothing_raw(const std::string& text) {
    for (const char c : text) {
      EXPECT_TRUE((c >= ' ' && c < 0x7f) || c == '\n' || c == '\t') << text;
    }
  }
};

TEST_F(HostileSocket, InterfacesWithoutEndEndAttach) {
  const Sender sender("evil", endpoint("evil", "server"), trace::interface_again());
  for (const std::string& options : {std::string(), "-w " + path("kept"), std::string("-w -"),
                                     "-w " + path("ring") + " --ring-size 1M"}) {
    EXPECT_EQ(refusal(options), "rpcrdma: evil: it sends more interfaces than an endpoint has")
        << options;
  }
  EXPECT_LT(std::filesystem::file_size(path("kept")), 4096U);
}

TEST_F(HostileSocket, LossesWithoutEndEndAttach) {
  const Sender sender("evil", endpoint("evil", "server"),
                      trace::event_block(trace::make_event(1, 1, trace::Loss{2, 1})));
  for (const std::string& options :
       {std::string(), "-w " + path("kept"), "-w " + path("ring") + " --ring-size 64M"}) {
    EXPECT_THAT(refusal(options), HasSubstr("almost only of loss events")) << options;
  }
  EXPECT_LT(std::filesystem::file_size(path("kept")), std::size_t{1} << 20);
}

TEST_F(HostileSocket, RingsThatNoEndpointHasEndAttach) {
  const Sender sender("evil", endpoint("evil", "server"),
                      trace::event_block(trace::make_event(300, 1, trace::Loss{2, 1})));
  EXPECT_EQ(refusal("-w " + path("kept")), "rpcrdma: evil: the data is not an endpoint's event");
  EXPECT_EQ(refusal(""), "rpcrdma: evil: the data is not an endpoint's event");
}

TEST_F(HostileSocket, ASilentOneEndsAttach) {
  const Sender sender("evil", {}, {});
  EXPECT_EQ(run("RPCRDMA attach evil -w " + path("kept")).err,
            "rpcrdma: evil: it does not answer\n");
}

TEST_F(HostileSocket, NamesAndRolesAreNeverShownRaw) {
  const std::string name = "x\x1b]0;PWNED\x07\x1b[31m\nFAKE LINE\r$(id)\xff";
  const Sender sender("evil", endpoint(name, "\x1b[2J<b>role</b>{display=x}\n"), {});
  const Result listed = run("RPCRDMA ls");
  EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '\n'), 2);
  expect_nothing_raw(listed.out + listed.err);
  const Result json = run("RPCRDMA ls --json");
  EXPECT_EQ(json_lines(json.out).size(), 1U);
  EXPECT_THAT(json.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  const Result offered = run("RPCRDMA complete attach ''");
  EXPECT_THAT(offered.out, MatchesRegex("7\t[^\n]*\nkernel\t[^\n]*\n"));
  expect_nothing_raw(offered.out);
  const Result top = run("RPCRDMA top --once --seconds 0.2");
  EXPECT_EQ(top.status, 0) << top.err;
  EXPECT_THAT(top.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
#ifdef RPCRDMA_EXTCAP_PROGRAM
  const Result interfaces = run(RPCRDMA_EXTCAP_PROGRAM " --extcap-interfaces");
  // Besides the kernel's.
  EXPECT_EQ(std::count(interfaces.out.begin(), interfaces.out.end(), '\n'), 3);
  EXPECT_THAT(interfaces.out, HasSubstr("\ninterface {value=rpcrdma.evil.7}{display="));
#endif
}

}  // namespace
}  // namespace rpcrdma::e2e
