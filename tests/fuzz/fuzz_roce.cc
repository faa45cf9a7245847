// A packet that decodes has its payload within the input, encodes to bytes that decode to the same,
// and needs all of its headers. The first two bytes give its length on the wire.
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace {

using namespace rpcrdma::wire;
using rpcrdma::fuzz::require;

void check_within(const RocePacket& packet, Bytes bytes) {
  const std::uint8_t* const begin = packet.payload.data();
  require(begin >= bytes.data() + kBthBytes);
  require(begin + packet.payload.size() <= bytes.data() + bytes.size());
}

// Every meaningful header bit and the payload survive.
void check_again(const RocePacket& packet) {
  std::vector<std::uint8_t> once(encoded_size(packet) + kIcrcBytes);
  require(encode_roce(packet, once) == once.size() - kIcrcBytes);
  const auto decoded = decode_roce(once, once.size());
  require(decoded.has_value());
  require(std::ranges::equal(decoded->payload, packet.payload));
  std::vector<std::uint8_t> twice(once.size());
  require(encode_roce(*decoded, twice).has_value());
  require(once == twice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t wire_length = load_be16(data);
  const Bytes bytes(data + 2, size - 2);
  const auto packet = decode_roce(bytes, wire_length);
  if (!packet) {
    require(packet.error().offset <= bytes.size());
    require(packet.error().what[0] != '\0');
    return 0;
  }
  check_within(*packet, bytes);
  check_again(*packet);
  const std::size_t headers = encoded_size(*packet) - (packet->payload.size() + 3) / 4 * 4;
  require(!decode_roce(bytes.first(headers - 1), wire_length));
  return 0;
}
