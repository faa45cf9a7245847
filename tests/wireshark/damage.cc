#include "damage.h"

#include <algorithm>
#include <array>
#include <random>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::wireshark::testing {

namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kUdp = 8;
constexpr std::size_t kHeaders = kEthernet + kIp + kUdp;

// Returns the offset of the ICRC in an Ethernet frame with RoCEv2 over IPv4; otherwise 0.
std::size_t icrc_at(const Record& r) {
  const std::vector<std::uint8_t>& d = r.data;
  if (d.size() < kHeaders + wire::kBthBytes + 4 || wire::load_be16(&d[12]) != 0x0800) return 0;
  const std::uint8_t* const ip = &d[kEthernet];
  if (ip[0] != 0x45 || ip[9] != 17 || wire::load_be16(ip + kIp + 2) != wire::kRoceUdpPort) return 0;
  const std::size_t end = kEthernet + wire::load_be16(ip + 2);
  return end <= d.size() && end >= kHeaders + wire::kBthBytes + 4 ? end - 4 : 0;
}

void sign(Record& r, std::size_t at) {
  const wire::Bytes packet(&r.data[kEthernet], at - kEthernet);
  wire::store_icrc(&r.data[at], wire::icrc(wire::IcrcKind::kRoceV2Ipv4, packet, kIp + kUdp));
}

using Random = std::mt19937_64;

void spoil(std::vector<std::uint8_t>& data, std::size_t from, std::size_t to, Random& random) {
  // Draws distances between damaged bytes, rather than a decision for each byte.
  std::geometric_distribution<std::size_t> step(0.02);
  for (std::size_t at = from + step(random); at < to; at += 1 + step(random)) {
    data[at] = static_cast<std::uint8_t>(random());
  }
}

void spoil_words(Record& r, std::size_t end, Random& random) {
  constexpr std::array<std::uint32_t, 12> kValues = {
      0, 1, 2, 3, 4, 0xff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
  const std::size_t begin = kHeaders + wire::kBthBytes;
  const std::size_t words = std::min<std::size_t>((end - begin) / 4, 40);
  if (words == 0) return;
  for (int i = 0; i < 2; ++i) {
    wire::store_be32(&r.data[begin + random() % words * 4], kValues[random() % kValues.size()]);
  }
}

void reorder(std::vector<Record>& capture, Random& random) {
  std::vector<Record> out;
  for (Record& r : capture) {
    const auto luck = random() % 100;
    if (luck < 3) continue;
    out.push_back(r);
    if (luck < 6) out.push_back(std::move(r));
    if (luck >= 97 && out.size() >= 2) std::swap(out[out.size() - 1], out[out.size() - 2]);
  }
  capture = std::move(out);
}

}  // namespace

void readdress(std::vector<Record>& capture, std::uint16_t copy) {
  for (Record& r : capture) {
    const std::size_t icrc = icrc_at(r);
    if (icrc == 0) continue;
    // The middle bytes of both addresses.
    wire::store_be16(&r.data[kEthernet + 13], copy);
    wire::store_be16(&r.data[kEthernet + 17], copy);
    sign(r, icrc);
  }
}

void damage(std::vector<Record>& capture, Damage kind, std::uint64_t seed) {
  Random random(seed);
  if (kind == Damage::kOrder) return reorder(capture, random);
  for (Record& r : capture) {
    const std::size_t icrc = icrc_at(r);
    const std::size_t payload = icrc != 0 ? kHeaders + wire::kBthBytes : 0;
    switch (kind) {
      case Damage::kBytes:
        spoil(r.data, 0, r.data.size(), random);
        break;
      case Damage::kPayload:
        spoil(r.data, payload, icrc != 0 ? icrc : r.data.size(), random);
        if (icrc != 0) sign(r, icrc);
        break;
      case Damage::kWords:
        if (icrc == 0 || random() % 4 != 0) break;
        spoil_words(r, icrc, random);
        sign(r, icrc);
        break;
      case Damage::kCut:
        if (random() % 4 == 0) r.data.resize(random() % (r.data.size() + 1));
        break;
      case Damage::kOrder:
        break;
    }
  }
}

}  // namespace rpcrdma::wireshark::testing
