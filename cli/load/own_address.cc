#include "load/own_address.h"

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <rpcrdma/base/parse.h>

namespace rpcrdma::cli {
namespace {

struct Network {
  int family = 0;
  std::array<unsigned char, 16> bytes{};
  unsigned prefix = 0;
};

std::optional<Network> parse_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto prefix = base::parse_u32(std::string_view(text).substr(slash + 1));
  const std::string address = text.substr(0, slash);
  for (const int family : {AF_INET, AF_INET6}) {
    Network n{family, {}, prefix.value_or(129)};
    if (n.prefix <= (family == AF_INET ? 32U : 128U) &&
        ::inet_pton(family, address.c_str(), n.bytes.data()) == 1) {
      return n;
    }
  }
  return std::nullopt;
}

const unsigned char* bytes_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return reinterpret_cast<const unsigned char*>(
        &reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  }
  return reinterpret_cast<const unsigned char*>(
      &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool contains(const Network& network, const sockaddr* address) {
  if (address->sa_family != network.family) return false;
  const unsigned char* const bytes = bytes_of(address);
  for (unsigned bit = 0; bit < network.prefix; ++bit) {
    const unsigned mask = 0x80U >> bit % 8;
    if (((bytes[bit / 8] ^ network.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_link_local(const sockaddr* address) {
  const unsigned char* const bytes = bytes_of(address);
  return address->sa_family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address->sa_family, bytes_of(address), text.data(), text.size());
  return text.data();
}

}  // namespace

tl::expected<std::string, std::string> own_address(const std::string& network) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return tl::unexpected(std::string("cannot list own addresses"));
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  const auto wanted = parse_network(network);
  std::vector<std::string> v4;
  std::vector<std::string> v6;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || is_link_local(i->ifa_addr)) continue;
    const bool fits = wanted            ? contains(*wanted, i->ifa_addr)
                      : network.empty() ? (i->ifa_flags & IFF_LOOPBACK) == 0
                                        : network == i->ifa_name;
    if (fits) (family == AF_INET ? v4 : v6).push_back(text_of(i->ifa_addr));
  }
  const std::vector<std::string>& found = v4.empty() ? v6 : v4;
  if (found.size() == 1 || (found.size() > 1 && !network.empty())) return found.front();
  if (!network.empty()) {
    return tl::unexpected(fmt::format("--network {}: no address of this host is in it", network));
  }
  if (found.empty()) {
    return tl::unexpected(
        std::string("this host has no address except loopback; --network lo uses that"));
  }
  return tl::unexpected(fmt::format("this host has several addresses: {}; choose with --network",
                                    fmt::join(found, ", ")));
}

}  // namespace rpcrdma::cli
