#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {

AddressText::AddressText(const Address& address) {
  char* const begin = text_.data();
  char* const limit = begin + text_.size();
  char* end = begin;
  switch (address.kind) {
    case AddressKind::kNone:
      *end++ = '-';
      break;
    case AddressKind::kIpv4:
      // Much faster than inet_ntop(), which goes through printf.
      for (unsigned i = 0; i < 4; ++i) {
        if (i != 0) *end++ = '.';
        end = std::to_chars(end, limit, address.bytes[i]).ptr;
      }
      break;
    case AddressKind::kIpv6:
    case AddressKind::kGid:
      (void)::inet_ntop(AF_INET6, address.bytes.data(), begin, INET6_ADDRSTRLEN);
      end = begin + std::strlen(begin);
      break;
    case AddressKind::kLid:
      end = std::copy_n("lid ", 4, begin);
      end = std::to_chars(end, limit, wire::load_be16(address.bytes.data())).ptr;
      break;
  }
  size_ = static_cast<std::size_t>(end - begin);
}

std::string Address::to_string() const {
  return std::string(AddressText(*this).view());
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
