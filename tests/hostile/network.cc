#include "network.h"

#include "../../engine/fabric/soft/log/pcapng_log.h"

#include <algorithm>

#include <rpcrdma/soft/frame.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::hostile {

namespace {

constexpr fabric::Time kLeastIdle = fabric::kMillisecond;
constexpr fabric::Time kMostIdle = 200 * fabric::kMillisecond;
constexpr std::int64_t kBegin = 1'800'000'000'000'000'000;  // the capture's clock

}  // namespace

Tap::Tap() {
  soft::put_head(file_, "sim");
}

void Tap::packet(const soft::Path& path, wire::Bytes packet, bool outgoing, fabric::Time now) {
  soft::Path way = path;
  if (!outgoing) std::swap(way.local, way.remote);
  soft::OutPacket p;
  p.path = &way;
  p.header_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(packet.size(), wire::kBthBytes));
  std::copy_n(packet.begin(), p.header_bytes, p.header.begin());
  p.payload[0] = packet.subspan(p.header_bytes);
  p.payload_parts = 1;
  p.payload_bytes = static_cast<std::uint32_t>(p.payload[0].size());
  Bytes datagram(p.size() + wire::kIcrcBytes);
  datagram.resize(soft::frame(p, 0, datagram));
  const soft::Flow flow{way.local, way.remote, way.udp_source_port};
  soft::put_packet(file_, kBegin + now,
                   outgoing ? soft::Direction::kOutbound : soft::Direction::kInbound,
                   soft::ethernet_frame(flow, 0, datagram));
}

Host::Host(soft::SimNetwork& net, const soft::AdapterOptions& options, std::uint64_t seed, Tap* tap)
    : SimHost(net, options, seed, {}),
      limits_{.message = 1U << 30,
              .read_slices = fabric::kMaxSlices,
              .sends_invalidate = true,
              .accepts_invalidate = true,
              .sees_peer_operations = options.tracer != nullptr},
      tap_(tap) {}

void Host::receive(const soft::Path& path, wire::Bytes packet, fabric::Time now) {
  Bytes copy(packet.begin(), packet.end());
  if (change_incoming) change_incoming(copy);
  if (gather_reads != 0 && copy[0] == static_cast<std::uint8_t>(wire::Opcode::kReadRequest)) {
    gathered_.emplace_back(path, copy);
    if (gathered_.size() < gather_reads) return;
    gather_reads = 0;
    for (const auto& [from, request] : std::exchange(gathered_, {})) receive(from, request, now);
    return;
  }
  if (tap_ != nullptr) tap_->packet(path, copy, false, now);
  SimHost::receive(path, copy, now);
}

bool Host::transmit(soft::OutPacket& packet, fabric::Time now) {
  if (!SimHost::transmit(packet, now)) return false;
  if (change_outgoing) change_outgoing(packet);
  if (tap_ == nullptr) return true;
  Bytes all(packet.header.begin(), packet.header.begin() + packet.header_bytes);
  for (std::size_t i = 0; i < packet.payload_parts; ++i) {
    all.insert(all.end(), packet.payload[i].begin(), packet.payload[i].end());
  }
  all.resize(packet.size());
  tap_->packet(*packet.path, all, true, now);
  return true;
}

void Network::step() {
  for (const auto& turn : turns) turn();
  const bool happened =
      net.run_until([&] { return net.now() > clock; }, clock + std::max(idle_, kLeastIdle));
  clock = net.now();
  idle_ = happened ? 0 : std::clamp(2 * idle_, kLeastIdle, kMostIdle);
}

bool Network::until(const std::function<bool()>& condition) {
  const fabric::Time end = clock + 900 * fabric::kSecond;
  while (!condition()) {
    if (clock > end) return false;
    step();
  }
  return true;
}

void Network::run_for(fabric::Time time) {
  const fabric::Time end = clock + time;
  idle_ = 0;
  while (clock < end) step();
}

}  // namespace rpcrdma::hostile
