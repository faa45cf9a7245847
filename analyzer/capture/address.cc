#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/core.h>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {

std::string Address::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (kind) {
    case AddressKind::kNone:
      break;
    case AddressKind::kIpv4:
      // Much faster than inet_ntop(), which goes through printf.
      return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
    case AddressKind::kIpv6:
    case AddressKind::kGid:
      return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
    case AddressKind::kLid:
      return "lid " + std::to_string(wire::load_be16(bytes.data()));
  }
  return "-";
}

Address make_ipv4(const std::uint8_t* p) {
  Address a;
  std::memcpy(a.bytes.data(), p, 4);
  a.kind = AddressKind::kIpv4;
  return a;
}

Address make_ipv6(const std::uint8_t* p) {
  Address a;
  std::memcpy(a.bytes.data(), p, 16);
  a.kind = AddressKind::kIpv6;
  return a;
}

}  // namespace rpcrdma::capture
