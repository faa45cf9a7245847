#include "host_name.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/core.h>
#include <netdb.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/fabric/socket_address.h>

namespace rpcrdma::cli {

namespace {

using fabric::Address;
using fabric::Errc;
using fabric::fail;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const bool digits =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto port = digits ? base::parse_u32(text) : std::nullopt;
  if (!port || *port == 0 || *port > UINT16_MAX) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

// getaddrinfo() reads "10.1" as 10.0.0.1 and "0x7f000001" as 127.0.0.1, which is a typing error
// here. No host name ends in a label that is a number (RFC 3696 section 2).
bool looks_like_number(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  const std::string_view last = host.substr(host.rfind('.') + 1);
  if (last.starts_with("0x") || last.starts_with("0X")) return true;
  return std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

fabric::Expected<HostPort> split_host(std::string_view text) {
  HostPort out;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return fail(Errc::kBadArgument, fmt::format("\"{}\": a ] is missing", text));
    }
    out.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') {
      return fail(Errc::kBadArgument, fmt::format("\"{}\": after ] only :PORT may follow", text));
    }
  } else {
    // An IPv6 address without brackets has more than one colon.
    const std::size_t colon = text.find(':');
    const bool one = colon != std::string_view::npos && text.find(':', colon + 1) == text.npos;
    out.host = text.substr(0, one ? colon : text.npos);
    if (one) rest = text.substr(colon);
  }
  if (out.host.empty()) return fail(Errc::kBadArgument, fmt::format("\"{}\": no host", text));
  if (rest.empty()) return out;
  out.port = parse_port(rest.substr(1));
  if (!out.port) {
    return fail(Errc::kBadArgument,
                fmt::format("\"{}\": the port is not a number from 1 to 65535", text));
  }
  return out;
}

fabric::Expected<std::vector<Address>> resolve(const std::string& host) {
  const auto literal = fabric::parse_address(host);
  if (literal) return std::vector{*literal};
  if (host.find_first_of(":%") != std::string::npos || looks_like_number(host)) {
    return tl::unexpected(literal.error());
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return fail(Errc::kBadArgument,
                fmt::format("\"{}\" is no address and cannot be resolved: {}", host,
                            error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    fabric::SocketAddress socket{};
    if (a->ai_addrlen > sizeof socket) continue;
    std::memcpy(&socket, a->ai_addr, a->ai_addrlen);
    const auto endpoint = to_endpoint(socket);
    if (endpoint && std::ranges::find(addresses, endpoint->address) == addresses.end()) {
      addresses.push_back(endpoint->address);
    }
  }
  if (addresses.empty()) {
    return fail(Errc::kBadArgument, fmt::format("\"{}\" has no IPv4 or IPv6 address", host));
  }
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const Address& a) { return !a.ipv6; });
  return addresses;
}

}  // namespace rpcrdma::cli
