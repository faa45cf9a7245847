// Coalesced datagrams: those with valid ICRCs are cut into the packets that were merged; any other
// bytes do no harm. The first byte chooses.
#include "fuzz_check.h"
#include "fuzz_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/roce/coalesced.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

using rpcrdma::fuzz::Input;
using rpcrdma::fuzz::require;
using namespace rpcrdma;

namespace {

constexpr std::size_t kHeaders = 28;

void set_lengths(std::vector<std::uint8_t>& bytes, std::size_t transport) {
  wire::store_be16(&bytes[2], static_cast<std::uint16_t>(kHeaders + transport));
  wire::store_be16(&bytes[24], static_cast<std::uint16_t>(8 + transport));
}

std::vector<std::uint8_t> headers() {
  std::vector<std::uint8_t> bytes(kHeaders);
  bytes[0] = 0x45;
  bytes[9] = 17;
  wire::store_be16(&bytes[22], wire::kRoceUdpPort);
  return bytes;
}

roce::PreparedPacket prepared(const std::vector<std::uint8_t>& bytes, std::size_t wire_length) {
  roce::PreparedPacket packet;
  packet.transport.data = bytes;
  packet.transport.bth = kHeaders;
  packet.transport.wire_length = wire_length;
  roce::prepare(packet);
  return packet;
}

// Packets with the payload that the input has, `each` bytes in all but the last.
void cut_merged(Input& input) {
  const std::size_t each = 4 * (std::size_t{input.byte()} + 4);
  std::vector<std::uint8_t> merged = headers();
  std::size_t count = 0;
  while (!input.empty() && merged.size() + each < 60'000 && count < 64) {
    std::vector<std::uint8_t> bytes = headers();
    set_lengths(bytes, each);
    wire::store_be16(&bytes[4], static_cast<std::uint16_t>(count));
    bytes.resize(kHeaders + each);
    bytes[kHeaders] = static_cast<std::uint8_t>(wire::Opcode::kSendMiddle);
    bytes[kHeaders + 2] = bytes[kHeaders + 3] = 0xff;
    bytes[kHeaders + 11] = static_cast<std::uint8_t>(count);
    const wire::Bytes payload = input.take(each - wire::kBthBytes - wire::kIcrcBytes);
    std::copy(payload.begin(), payload.end(), bytes.begin() + kHeaders + wire::kBthBytes);
    wire::store_icrc(&bytes[bytes.size() - 4],
                     wire::icrc(wire::IcrcKind::kRoceV2Ipv4,
                                wire::Bytes(bytes).first(bytes.size() - 4), kHeaders));
    merged.insert(merged.end(), bytes.begin() + kHeaders, bytes.end());
    ++count;
  }
  if (count < 2) return;
  set_lengths(merged, merged.size() - kHeaders);
  const roce::PreparedPacket whole = prepared(merged, merged.size() - kHeaders);
  require(roce::CoalescedPackets::possible(whole));
  roce::CoalescedPackets packets;
  require(packets.begin(whole));
  roce::PreparedPacket packet;
  std::size_t found = 0;
  while (packets.next(packet)) {
    require(packet.icrc == roce::IcrcCheck::kGood && packet.roce.bth.psn == found);
    ++found;
  }
  require(found == count && packets.truncated() == 0);
}

void cut_anything(Input& input) {
  std::vector<std::uint8_t> bytes = headers();
  const std::size_t more = std::size_t{input.byte()} * 64;
  const wire::Bytes rest = input.take(60'000);
  if (rest.size() < wire::kBthBytes + wire::kIcrcBytes) return;
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  const roce::PreparedPacket whole = prepared(bytes, rest.size() + more);
  roce::CoalescedPackets packets;
  if (!packets.begin(whole)) return;
  roce::PreparedPacket packet;
  std::size_t length = 0;
  while (packets.next(packet)) {
    length += packet.transport.wire_length;
    require(packet.transport.transport().size() <= packet.transport.wire_length);
  }
  require(length <= whole.transport.wire_length);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if ((input.byte() & 1) != 0) {
    cut_merged(input);
  } else {
    cut_anything(input);
  }
  return 0;
}
