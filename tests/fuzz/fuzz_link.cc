// A frame of any link type: the first two bytes are the link type, the third is the number of bytes
// on the wire that were not captured.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>
#include <functional>

#include <rpcrdma/capture/ip_packet.h>
#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/unread.h>
#include <rpcrdma/wire/roce.h>

using rpcrdma::fuzz::require;
using namespace rpcrdma::capture;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  Frame frame;
  frame.link = static_cast<LinkType>(data[0] << 8 | data[1]);
  frame.data = {data + 3, size - 3};
  frame.original = static_cast<std::uint32_t>(frame.data.size() + data[2]);
  TransportPacket packet;
  const LinkResult result = dissect_link(frame, packet);
  require(packet.tunnels.count <= Tunnels::kMost);
  IpPacket ip;
  if (find_ip(frame, ip)) {
    require(ip.payload.size() <= ip.wire_payload);
    require(ip.tunnels.count <= Tunnels::kMost);
    // As after a reassembly: the same tunnels around the datagram, and those inside it.
    const std::span<const std::uint8_t> datagram(
        ip.header.data(),
        static_cast<std::size_t>(ip.payload.data() + ip.payload.size() - ip.header.data()));
    TransportPacket inner;
    const LinkResult again = dissect_datagram(datagram, ip.tunnels, inner);
    if (again == LinkResult::kRoce) require(inner.tunnels.count >= ip.tunnels.count);
  }
  const Unread unread = unread_of(frame, result);
  require(result == LinkResult::kRoce ? unread.kind == UnreadKind::kNothing
                                      : !unread_name(unread.kind, unread.detail).empty());
  if (result != LinkResult::kRoce) return 0;

  const std::uint8_t* const end = frame.data.data() + frame.data.size();
  require(!std::less<>()(packet.data.data(), frame.data.data()));
  require(!std::less<>()(end, packet.data.data() + packet.data.size()));
  require(packet.data.size() >= packet.bth + rpcrdma::wire::kBthBytes);
  require(packet.wire_length >= rpcrdma::wire::kBthBytes + 4);
  require(packet.transport().size() <= packet.wire_length);
  require(packet.src.kind != AddressKind::kNone && packet.src.kind == packet.dst.kind);

  // A frame truncated at the end of the packet gives the same packet.
  const std::span<const std::uint8_t> found = packet.data;
  frame.data =
      frame.data.first(static_cast<std::size_t>(found.data() + found.size() - frame.data.data()));
  TransportPacket again;
  require(dissect_link(frame, again) == LinkResult::kRoce);
  require(again.data.data() == found.data() && again.data.size() == found.size());
  require(again.wire_length == packet.wire_length && again.bth == packet.bth);
  return 0;
}
