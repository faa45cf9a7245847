// An IP address of a peer or of an interface.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::fabric {

struct Address {
  bool ipv6 = false;
  std::array<std::uint8_t, 16> bytes{};  // IPv4: the first four; the rest is zero
  std::uint32_t scope = 0;               // IPv6 link-local: the interface's index, else 0

  friend bool operator==(const Address&, const Address&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 mistakes a comparison for a null pointer
  friend auto operator<=>(const Address&, const Address&) = default;

  // "10.0.0.1", "fe80::1%3".
  [[nodiscard]] std::string to_string() const;
  // Returns the RoCEv2 GID: an IPv6 address as it is, IPv4 mapped (::ffff:a.b.c.d).
  [[nodiscard]] std::array<std::uint8_t, 16> gid() const;
};

// Accepts "127.0.0.2", "::1", "fe80::1%eth0", but no host names. Error: kBadArgument.
[[nodiscard]] Expected<Address> parse_address(std::string_view text);
[[nodiscard]] Address make_ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);

}  // namespace rpcrdma::fabric
