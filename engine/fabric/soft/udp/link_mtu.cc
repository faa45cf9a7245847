#include "link_mtu.h"

#include "ip_headers.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fabric/socket_address.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

struct FreeInterfaces {
  void operator()(ifaddrs* all) const { ::freeifaddrs(all); }
};

bool has_address(const ifaddrs& entry, const fabric::Address& local) {
  const int family = local.ipv6 ? AF_INET6 : AF_INET;
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != family) return false;
  fabric::SocketAddress address;
  std::memcpy(&address, entry.ifa_addr, local.ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  const auto endpoint = to_endpoint(address);
  return endpoint && endpoint->address == local;
}

std::uint32_t mtu_of(const char* interface) {
  const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  if (::ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
  return static_cast<std::uint32_t>(std::max(request.ifr_mtu, 0));
}

}  // namespace

std::uint32_t link_mtu(const fabric::Address& local) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return 0;
  const std::unique_ptr<ifaddrs, FreeInterfaces> all(first);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (has_address(*entry, local)) return mtu_of(entry->ifa_name);
  }
  return 0;
}

std::uint32_t path_mtu_on(std::uint32_t link_mtu) {
  // The longest headers of a full packet: BTH, RETH and an immediate.
  constexpr std::uint32_t kHeaders =
      kIpv6Bytes + kUdpBytes + wire::kBthBytes + 16 + 4 + wire::kIcrcBytes;
  std::uint32_t mtu = 4096;
  while (mtu > 256 && mtu + kHeaders > link_mtu) mtu /= 2;
  return mtu;
}

}  // namespace rpcrdma::soft
