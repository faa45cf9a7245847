// A network namespace for one test, with a loopback interface that has the addresses it needs: a
// machine's loopback has only one IPv6 address, and an endpoint needs one of its own.
#pragma once

#include <cstring>
#include <initializer_list>

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::soft {

// A newly assigned IPv6 address is tentative until the kernel has finished duplicate detection, and
// cannot be used until then.
inline bool becomes_usable(const fabric::Address& address) {
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  std::memcpy(&at.sin6_addr, address.bytes.data(), sizeof at.sin6_addr);
  for (int tries = 0; tries < 10'000; ++tries) {
    const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    if (bound) return true;
    ::poll(nullptr, 0, 1);
  }
  return false;
}

// Moves the calling process into the namespace for good. False: this machine does not permit it,
// for lack of privileges to create namespaces, or has no IPv6.
inline bool enter_network_with(std::initializer_list<fabric::Address> ipv6_addresses) {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ifreq up{};
  std::strncpy(up.ifr_name, "lo", sizeof up.ifr_name - 1);
  up.ifr_flags = IFF_UP | IFF_RUNNING;
  bool done = ::ioctl(fd, SIOCSIFFLAGS, &up) == 0;
  for (const fabric::Address& address : ipv6_addresses) {
    struct {  // in6_ifreq of <linux/ipv6.h>, whose header conflicts with the C library's
      std::uint8_t address[16];
      std::uint32_t prefix_bits;
      int interface;
    } request{};
    std::memcpy(request.address, address.bytes.data(), sizeof request.address);
    request.prefix_bits = 128;
    request.interface = static_cast<int>(::if_nametoindex("lo"));
    done = done && ::ioctl(fd, SIOCSIFADDR, &request) == 0;
  }
  ::close(fd);
  for (const fabric::Address& address : ipv6_addresses) done = done && becomes_usable(address);
  return done;
}

}  // namespace rpcrdma::soft
