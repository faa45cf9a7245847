// Tests ./dev demo with the real program, and with programs that do not show what they should.
#include "stand_ins.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rpcrdma::dev {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DevDemo : public DevScript {
 protected:
  DevDemo() {
    std::filesystem::remove_all(folder() + "/tests");
    std::filesystem::create_symlink(RPCRDMA_SOURCE_DIR "/tests", folder() + "/tests");
  }
  void use_program(const std::string& path) const {
    const std::string program = folder() + "/build/quick/bin/rpcrdma";
    std::filesystem::remove(program);
    std::filesystem::create_symlink(path, program);
  }
  // `script`: what the program does, depending on its first argument.
  void use_script(const std::string& script) const {
    const std::string file = folder() + "/program";
    e2e::write_file(file, "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    use_program(file);
  }
};

// Occupies RoCE's port at 127.0.0.1; if another program already does, that serves the test as well.
class TakenAddress {
 public:
  TakenAddress() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(4791);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int bound = ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    EXPECT_TRUE(bound == 0 || errno == EADDRINUSE);
  }
  ~TakenAddress() { ::close(fd_); }
  TakenAddress(const TakenAddress&) = delete;
  TakenAddress& operator=(const TakenAddress&) = delete;

 private:
  int fd_;
};

TEST_F(DevDemo, ShowsItsOwnServerWhereAnAddressIsTaken) {
  const TakenAddress taken;
  use_program(RPCRDMA_COMMAND);
  const e2e::Result r = run("demo", "XDG_RUNTIME_DIR=" + folder() + "/tmp");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_THAT(r.err, HasSubstr("serve --listen 127.0.0."));
  EXPECT_THAT(r.err, Not(HasSubstr("serve --listen 127.0.0.1 ")));
  EXPECT_THAT(r.err, HasSubstr("the demo takes about 10 s"));
}

TEST_F(DevDemo, FailsWhereTheProgramShowsNothing) {
  use_script("exit 0\n");
  const e2e::Result r = run("demo");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("'NFS v4 COMPOUND' is missing from the output of: decode_excerpt"));
}

constexpr const char* kCapturePart = R"sh(case $1 in
  decode) yes 'NFS v4 COMPOUND' | head -n 60; exit ;;
  analyze) echo '50 Calls, 50 Replies'; exit ;;
  serve) echo 'serve: 127.0.0.9: the address is in use'; exit 2 ;;
esac
echo "called $1" >&2
)sh";

TEST_F(DevDemo, CallsNobodyWhereItsServerDoesNotRun) {
  use_script(kCapturePart);
  const e2e::Result r = run("demo");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("dev: the server has ended: serve: 127.0.0.9: the address is"));
  EXPECT_THAT(r.err, Not(HasSubstr("called load")));
}

}  // namespace
}  // namespace rpcrdma::dev
