#include <charconv>

#include <fmt/core.h>

#include <rpcrdma/rpcbind/universal_address.h>

namespace rpcrdma::rpcbind {

namespace {

// An IPv6 address that ends in an IPv4 one, and the port.
constexpr std::size_t kLongest = 45 + 8;

std::optional<unsigned> octet(std::string_view text) {
  unsigned value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value > 255) {
    return std::nullopt;
  }
  return value;
}

// Removes and returns the number after the last dot.
std::optional<unsigned> last_octet(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto value = octet(text.substr(dot + 1));
  text = text.substr(0, dot);
  return value;
}

}  // namespace

const char* rdma_netid(const fabric::Address& address) {
  return address.ipv6 ? "rdma6" : "rdma";
}

std::string to_universal(const fabric::Endpoint& endpoint) {
  fabric::Address address = endpoint.address;
  address.scope = 0;
  return fmt::format("{}.{}.{}", address.to_string(), endpoint.port >> 8, endpoint.port & 0xff);
}

std::optional<fabric::Endpoint> parse_universal(std::string_view text) {
  if (text.size() > kLongest || text.find('%') != std::string_view::npos) return std::nullopt;
  const auto low = last_octet(text);
  if (!low) return std::nullopt;
  const auto high = last_octet(text);
  if (!high) return std::nullopt;
  const unsigned port = *high << 8 | *low;
  const auto address = fabric::parse_address(text);
  if (!address || port == 0) return std::nullopt;
  return fabric::Endpoint{*address, static_cast<std::uint16_t>(port)};
}

}  // namespace rpcrdma::rpcbind
