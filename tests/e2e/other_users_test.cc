// Root sees the endpoints of all users in `ls`, `top` and `attach`, and hostile sockets of other
// users neither stall nor mislead it. Each test has a /tmp of its own.
#include "support/command.h"
#include "support/own_address.h"

#include <chrono>

#include <gmock/gmock.h>
#include <unistd.h>

namespace rpcrdma::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNobody =
    "setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_RUNTIME_DIR ";

class OtherUsersEndpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root sees other users' endpoints";
  }
  // Runs a script in which $C is the command; `nobody` runs one as another user.
  static Result script(const std::string& lines) {
    const std::string head = std::string("mount -t tmpfs -o mode=1777 tmpfs /tmp\n") +
                             "unset XDG_RUNTIME_DIR\nC=" + RPCRDMA_COMMAND + "\nnobody() { exec " +
                             kNobody + "\"$@\"; }\n";
    return run("unshare -m --propagation private bash -c '" + head + lines + "'");
  }
  // Starts a server of another user and waits until it answers.
  static std::string serving() {
    return "(nobody $C serve --listen " + own_address(1) +
           " --provider soft) >/tmp/serve.log 2>&1 & server=$!\n"
           "until grep -q listening /tmp/serve.log || ! kill -0 $server; do sleep 0.02; done\n";
  }
  static std::string ending() { return "kill -INT $server; wait $server\n"; }
};

TEST_F(OtherUsersEndpoints, AreListedWithTheirUser) {
  const Result r = script(serving() + "$C ls; $C ls --json; echo $server\n" + ending());
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("NAME   PROCESS  USER    SINCE (UTC)          ROLE\n"));
  EXPECT_THAT(r.out, ContainsRegex("serve +[0-9]+  nobody  20[0-9-]+ [0-9:]+  server on "));
  EXPECT_THAT(r.out, HasSubstr("\"user\":\"nobody\""));
}

// Root's list for Prometheus has their endpoints, but not wherever they want it to connect.
TEST_F(OtherUsersEndpoints, AreTargetsOfPrometheusAtAddressesOfThisMachineOnly) {
  const std::string where = own_address(1);
  const Result r = script(
      "(nobody $C serve --listen " + where + " --provider soft --metrics " + where +
      ":9464) >/tmp/serve.log 2>&1 & server=$!\n"
      "until grep -q \"metrics at\" /tmp/serve.log || ! kill -0 $server; do sleep 0.02; done\n"
      "$C ls --sd /tmp/t.json; grep targets /tmp/t.json\n"
      "(nobody bash -c \"echo 198.51.100.7:9464 >/tmp/rpcrdma-*/serve.*.metrics\")\n"
      "$C ls; $C ls --sd /tmp/t.json; cat /tmp/t.json\n"
      "(nobody bash -c \"echo evil.example:9464 >/tmp/rpcrdma-*/serve.*.metrics\")\n"
      "$C ls --json\n" +
      ending());
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("{\"targets\":[\"" + where + ":9464\"]"));
  EXPECT_THAT(r.out, HasSubstr("\"user\":\"nobody\"}}"));
  EXPECT_THAT(r.out, HasSubstr("198.51.100.7:9464  server on"));
  EXPECT_THAT(r.err,
              HasSubstr("is left out: its user names an address that is not of this machine"));
  EXPECT_THAT(r.out, HasSubstr("\n[\n]\n"));
  EXPECT_THAT(r.out, HasSubstr("\"metrics\":null"));
}

TEST_F(OtherUsersEndpoints, AreReadByNameAndByProcess) {
  const Result r = script(
      serving() +
      "timeout -s INT 20 $C attach serve >/tmp/attached 2>&1 & reader=$!\n"
      "until grep -q \"attached to\" /tmp/attached || ! kill -0 $reader; do sleep 0.02; done\n"
      "$C ping " +
      own_address(1) + " --from " + own_address(2) +
      " --provider soft --count 2 --interval 1ms --no-live\n"
      "$C top --once --seconds 1\n" +
      ending() + "wait $reader\ncat /tmp/attached\n");
  EXPECT_THAT(r.out, HasSubstr("2 answered"));
  EXPECT_THAT(r.out, HasSubstr("serve: server on 127."));
  EXPECT_THAT(r.out, HasSubstr("NULL"));
  EXPECT_THAT(r.out, HasSubstr("serve ended;"));
}

// A listener that says nothing, one under another process's number, and a folder in another user's
// name.
TEST_F(OtherUsersEndpoints, HostileOnesHarmNobody) {
  const std::string hostile = R"(
import os, socket, sys
def listen(path):
  s = socket.socket(socket.AF_UNIX)
  s.bind(path)
  s.listen(1)
  return s
mine = f"/tmp/rpcrdma-{os.getuid()}"
os.mkdir(mine, 0o700)
kept = [listen(f"{mine}/silent{i}.{os.getpid()}.sock") for i in range(100)]
kept.append(listen(f"{mine}/liar.1.sock"))
os.symlink("/tmp/secret.sock", f"{mine}/link.{os.getpid()}.sock")
os.mkdir("/tmp/rpcrdma-1000", 0o700)
kept.append(listen(f"/tmp/rpcrdma-1000/other.{os.getpid()}.sock"))
print("ready", flush=True)
sys.stdin.read()
)";
  const TemporaryFolder folder;
  const std::string program = folder.file("hostile.py");
  write_file(program, hostile);
  const auto begun = std::chrono::steady_clock::now();
  const Result r = run(
      "exec 3<" + program +
      "; unshare -m --propagation private bash -c 'mount -t tmpfs -o mode=1777 tmpfs /tmp; unset "
      "XDG_RUNTIME_DIR; C=" RPCRDMA_COMMAND "; sleep 1000 | (exec " +
      kNobody +
      "python3 /dev/fd/3) >/tmp/log 2>&1 & until grep -q ready /tmp/log || ! kill -0 $!; do sleep "
      "0.02; done; cat /tmp/log; $C serve --listen " +
      own_address(1) +
      " --provider soft >/tmp/serve.log & server=$!; until grep -q listening /tmp/serve.log; do "
      "sleep 0.02; done; $C ls; echo status $?; kill -INT $server; wait $server; kill $(jobs -p)'");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
  EXPECT_THAT(r.out, HasSubstr("ready\n")) << r.err;
  EXPECT_THAT(r.out, HasSubstr("status 0\n")) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("serve +[0-9]+  root +20"));
  EXPECT_THAT(r.out, HasSubstr("(does not answer)"));
  EXPECT_THAT(r.out, Not(HasSubstr("other")));
  EXPECT_THAT(r.out, Not(HasSubstr("link")));
}

}  // namespace
}  // namespace rpcrdma::e2e
