#include <charconv>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <net/if.h>

#include <rpcrdma/fabric/address.h>

namespace rpcrdma::fabric {

std::string Address::to_string() const {
  if (!ipv6) return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return scope == 0 ? std::string(text.data()) : fmt::format("{}%{}", text.data(), scope);
}

std::array<std::uint8_t, 16> Address::gid() const {
  if (ipv6) return bytes;
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, bytes[0], bytes[1], bytes[2], bytes[3]};
}

Expected<Address> parse_address(std::string_view text) {
  const auto no = [&] {
    return fail(Errc::kBadArgument, fmt::format("\"{}\" is not an IPv4 or IPv6 address", text));
  };
  if (text.find('\0') != std::string_view::npos) return no();
  Address a;
  const std::size_t percent = text.find('%');
  const std::string host(text.substr(0, percent));
  if (::inet_pton(AF_INET, host.c_str(), a.bytes.data()) == 1) {
    return percent == std::string_view::npos ? Expected<Address>(a) : no();
  }
  a.ipv6 = true;
  if (::inet_pton(AF_INET6, host.c_str(), a.bytes.data()) != 1) return no();
  if (percent == std::string_view::npos) return a;
  const std::string zone(text.substr(percent + 1));
  const char* const end = zone.data() + zone.size();
  const auto number = std::from_chars(zone.data(), end, a.scope);
  if (number.ec == std::errc() && number.ptr == end && a.scope != 0) return a;
  a.scope = ::if_nametoindex(zone.c_str());
  if (a.scope == 0) {
    return fail(Errc::kBadArgument, fmt::format("there is no interface \"{}\"", zone));
  }
  return a;
}

Address make_ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  Address address;
  address.bytes = {a, b, c, d};
  return address;
}

}  // namespace rpcrdma::fabric
