// Network namespaces that stand for hosts on one network: each has an address on a bridge in the
// namespace of the test. They end with the test, since processes hold them and nothing else does.
#pragma once

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::e2e {

class HostsOnABridge {
 public:
  static constexpr const char* kOwn = "10.77.0.254";

  ~HostsOnABridge() {
    for (const pid_t holder : holders_) {
      ::kill(holder, SIGKILL);
      ::waitpid(holder, nullptr, 0);
    }
  }

  // Moves the calling process into a namespace of its own with the bridge. False: this machine does
  // not permit it.
  static bool enter() {
    return ::geteuid() == 0 && ::unshare(CLONE_NEWNET) == 0 &&
           ip("link set lo up && ip link add br0 type bridge && ip addr add 10.77.0.254/16 dev br0 "
              "&& ip link set br0 up");
  }

  // Adds a host, whose number is the count of those before it.
  bool add() {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return false;
    const pid_t holder = ::fork();
    if (holder == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char made = ::unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      if (::write(ready[1], &made, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char made = 'n';
    const bool answered = ::read(ready[0], &made, 1) == 1;
    ::close(ready[0]);
    ::close(ready[1]);
    holders_.push_back(holder);
    if (!answered || made != 'y') return false;
    const std::string n = std::to_string(holders_.size() - 1);
    return ip("link add veth" + n + " type veth peer name eth0 netns " + std::to_string(holder) +
              " && ip link set veth" + n + " master br0 up") &&
           in(holders_.size() - 1, "ip link set lo up && ip addr add " +
                                       address(holders_.size() - 1) +
                                       "/16 dev eth0 && ip link set eth0 up");
  }

  [[nodiscard]] static std::string address(std::size_t host) {
    return "10.77.1." + std::to_string(host + 1);
  }
  // Pulls the host's cable, or plugs it in.
  [[nodiscard]] static bool plug(std::size_t host, bool in) {
    return ip("link set veth" + std::to_string(host) + (in ? " up" : " down"));
  }
  // A process in the host's namespace, for nsenter.
  [[nodiscard]] pid_t holder(std::size_t host) const { return holders_[host]; }
  // Moves the calling process, a child of the test, into the host's namespace.
  [[nodiscard]] bool become(std::size_t host) const {
    const std::string path = "/proc/" + std::to_string(holders_[host]) + "/ns/net";
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    return fd >= 0 && ::setns(fd, CLONE_NEWNET) == 0;
  }
  [[nodiscard]] bool in(std::size_t host, const std::string& shell) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(become(host) && std::system(shell.c_str()) == 0 ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    return status == 0;
  }

 private:
  static bool ip(const std::string& words) { return std::system(("ip " + words).c_str()) == 0; }

  std::vector<pid_t> holders_;
};

}  // namespace rpcrdma::e2e
