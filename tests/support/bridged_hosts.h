// Hosts on one bridge: network namespaces h1, h2, ... with the addresses 10.9.0.1, 10.9.0.2, ...;
// the test itself is at 10.9.0.100. Their names are in a private /run, so that nothing is left of
// them when the test has ended, in whatever way.
#pragma once

#include <cstdlib>
#include <string>

#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>

namespace rpcrdma::e2e {

inline constexpr const char* kBridgeAddress = "10.9.0.100";

inline std::string host_address(int host) {
  return fmt::format("10.9.0.{}", host);
}

// Moves this process into namespaces of its own and makes the hosts, once per process. False: the
// machine does not permit it.
inline bool enter_bridged_hosts(int hosts) {
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
  // From here on, even after a failure, the machine's own files are out of reach.
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", "/run", "tmpfs", 0, nullptr) != 0) {
    return false;
  }
  const std::string commands = fmt::format(
      "set -e; ip link set lo up; ip link add br0 type bridge; ip addr add {}/24 dev br0; "
      "ip link set br0 up; for i in $(seq {}); do ip netns add h$i; "
      "ip link add v$i type veth peer name eth0 netns h$i; ip link set v$i master br0 up; "
      "ip -n h$i addr add 10.9.0.$i/24 dev eth0; ip -n h$i link set eth0 up; "
      "ip -n h$i link set lo up; done",
      kBridgeAddress, hosts);
  return std::system(commands.c_str()) == 0;
}

}  // namespace rpcrdma::e2e
