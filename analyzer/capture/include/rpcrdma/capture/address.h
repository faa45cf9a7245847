// The network address of an RDMA port: IPv4, IPv6, a GID (RoCEv1, GRH) or an InfiniBand LID.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rpcrdma::capture {

enum class AddressKind : std::uint8_t { kNone, kIpv4, kIpv6, kGid, kLid };

struct Address {
  std::array<std::uint8_t, 16> bytes{};  // IPv4: the first 4, LID: the first 2; the rest is zero
  AddressKind kind = AddressKind::kNone;

  // Compared for every packet, so it compares two words and does not call memcmp().
  friend bool operator==(const Address& a, const Address& b) {
    std::array<std::uint64_t, 2> x;
    std::array<std::uint64_t, 2> y;
    std::memcpy(x.data(), a.bytes.data(), 16);
    std::memcpy(y.data(), b.bytes.data(), 16);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0 && a.kind == b.kind;
  }
  friend auto operator<=>(const Address&, const Address&) = default;

  // "10.0.0.1", "fe80::1", "lid 5", "-" for kNone.
  [[nodiscard]] std::string to_string() const;
};

// The same text as that of to_string(), without an allocation.
class AddressText {
 public:
  explicit AddressText(const Address& address);
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 48> text_;
  std::size_t size_ = 0;
};

[[nodiscard]] Address make_ipv4(const std::uint8_t* p);
[[nodiscard]] Address make_ipv6(const std::uint8_t* p);

// Good enough for a table of addresses from a file. It is not keyed, so tables bound their probes.
[[nodiscard]] inline std::uint64_t hash_value(const Address& a) {
  std::uint64_t lo;
  std::uint64_t hi;
  std::memcpy(&lo, a.bytes.data(), 8);
  std::memcpy(&hi, a.bytes.data() + 8, 8);
  std::uint64_t h = (lo ^ 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
  h ^= h >> 32;
  h = (h ^ hi ^ static_cast<std::uint64_t>(a.kind)) * 0xc4ceb9fe1a85ec53ULL;
  return h ^ (h >> 29);
}

}  // namespace rpcrdma::capture
