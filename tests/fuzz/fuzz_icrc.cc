// The ICRC of any bytes, with the BTH anywhere. The first byte selects the encapsulation, the next
// two the offset of the BTH. The value does not depend on bytes masked in every encapsulation, and
// the packet is not modified.
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma::wire;
  using rpcrdma::fuzz::require;
  constexpr std::size_t kPrefix = 3;
  if (size < kPrefix) return 0;
  const auto kind = static_cast<IcrcKind>(data[0] % 5);
  const std::size_t bth = load_be16(data + 1);
  // A copy, so that the address sanitizer knows its end.
  std::vector<std::uint8_t> packet(data + kPrefix, data + size);
  const std::uint32_t value = icrc(kind, packet, bth);
  require(std::equal(packet.begin(), packet.end(), data + kPrefix));
  if (packet.size() < kBthBytes || bth > packet.size() - kBthBytes) {
    require(value == 0);
    return 0;
  }
  packet[bth + 4] ^= 0xff;
  require(icrc(kind, packet, bth) == value);
  return 0;
}
