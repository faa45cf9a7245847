// Datagrams from the BTH through the ICRC, for the tests of this folder. The ICRC is four zeros;
// tests that need a valid one use frame().
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft::testing {

using Datagram = std::vector<std::uint8_t>;

inline Datagram encoded(const wire::RocePacket& packet) {
  Datagram datagram(wire::encoded_size(packet));
  if (!wire::encode_roce(packet, datagram)) throw std::logic_error("invalid test packet");
  datagram.resize(datagram.size() + 4);
  return datagram;
}

struct PacketSpec {
  wire::Opcode opcode = wire::Opcode::kSendOnly;
  std::uint32_t psn = 0;
  std::uint32_t qp = 0x11;
  std::uint8_t syndrome = 0;     // in the AETH
  std::uint32_t dma_length = 0;  // in the RETH
  std::size_t payload = 0;
};

inline Datagram datagram(const PacketSpec& spec) {
  const Datagram payload(spec.payload);
  wire::RocePacket packet;
  packet.bth.opcode = static_cast<std::uint8_t>(spec.opcode);
  packet.bth.psn = spec.psn;
  packet.bth.dest_qp = spec.qp;
  packet.aeth.syndrome = spec.syndrome;
  packet.reth.dma_length = spec.dma_length;
  packet.payload = payload;
  return encoded(packet);
}

inline Datagram cm_datagram(const wire::CmMessage& message, std::uint64_t transaction = 1) {
  wire::CmMad mad;
  mad.header.transaction_id = transaction;
  mad.message = message;
  Datagram bytes(wire::kMadBytes);
  if (!wire::encode_cm(mad, bytes)) throw std::logic_error("invalid test MAD");
  wire::RocePacket packet;
  packet.bth.opcode = static_cast<std::uint8_t>(wire::Opcode::kUdSendOnly);
  packet.bth.dest_qp = wire::kGsiQp;
  packet.payload = bytes;
  return encoded(packet);
}

}  // namespace rpcrdma::soft::testing
