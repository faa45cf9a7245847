// The simulated network: an event loop over packets in flight and the timers of nodes.
#include <algorithm>
#include <utility>

#include <rpcrdma/soft/frame.h>
#include <rpcrdma/soft/sim_network.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::soft {
namespace {

// For every datagram: each is sent alone and not fragmented (RFC 6864 section 4.1).
constexpr std::uint16_t kIpId = 0;

// Makes a node's random numbers independent of the number of other nodes.
std::uint64_t line_seed(std::uint64_t seed, SimNetwork::NodeId id, FaultDirection direction) {
  Random random(seed);
  return Random(random.next() + 2 * std::uint64_t{id} + static_cast<std::uint64_t>(direction))
      .next();
}

Path reversed(const Path& path) {
  return {path.remote, path.local, path.udp_source_port};
}

void make_datagram(const OutPacket& packet, std::vector<std::uint8_t>& datagram) {
  datagram.resize(packet.size() + wire::kIcrcBytes);
  datagram.resize(frame(packet, kIpId, datagram));
}

void flip_a_bit(wire::MutableBytes datagram, Random& random) {
  std::size_t byte = random.below(datagram.size() - 1);
  if (byte >= wire::kVariantBthByte) ++byte;
  datagram[byte] ^= static_cast<std::uint8_t>(1U << random.below(8));
}

}  // namespace

SimNetwork::NodeId SimNetwork::add(const fabric::Address& address, SimNode& node, SimLink link) {
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({&node, address, SimLine(link.out, line_seed(seed_, id, FaultDirection::kOut)),
                    SimLine(link.in, line_seed(seed_, id, FaultDirection::kIn)),
                    FaultGate(std::move(link.faults))});
  by_address_[address] = id;
  wake(id);
  return id;
}

void SimNetwork::remove(NodeId id) {
  Attached& attached = nodes_[id];
  attached.node = nullptr;
  timers_.remove(id);
  const auto found = by_address_.find(attached.address);
  if (found != by_address_.end() && found->second == id) by_address_.erase(found);
}

void SimNetwork::wake(NodeId id) {
  if (nodes_[id].node != nullptr) timers_.set(id, now_);
}

void SimNetwork::wake_all() {
  for (NodeId id = 0; id < nodes_.size(); ++id) wake(id);
}

void SimNetwork::change(NodeId id, FaultDirection direction, const SimDirection& to) {
  (direction == FaultDirection::kOut ? nodes_[id].out : nodes_[id].in).change(to);
}

void SimNetwork::set_faults(NodeId id, FaultPlan faults) {
  nodes_[id].gate = FaultGate(std::move(faults));
}

const SimCounters& SimNetwork::counters(NodeId id, FaultDirection direction) const {
  return (direction == FaultDirection::kOut ? nodes_[id].out : nodes_[id].in).counters();
}

fabric::Time SimNetwork::next() const {
  return std::min(under_way_.first_time(), timers_.first_time());
}

bool SimNetwork::step() {
  const fabric::Time time = next();
  if (time == fabric::kNever) return false;
  now_ = std::max(now_, time);
  ++counters_.events;
  if (under_way_.first_time() > time) {
    run_node(timers_.first());
    return true;
  }
  const std::uint32_t slot = under_way_.first();
  under_way_.remove(slot);
  if (packets_[slot].switched) {
    on_arrival(slot);
  } else {
    on_switch(slot);
  }
  return true;
}

bool SimNetwork::run_until_idle(fabric::Time limit) {
  wake_all();
  while (next() != fabric::kNever && next() <= limit) step();
  return next() == fabric::kNever;
}

void SimNetwork::run_node(NodeId id) {
  // Set again below, whatever the node does.
  timers_.remove(id);
  Attached& attached = nodes_[id];
  attached.gate.expire(now_, [this, id](FaultDirection direction, const Path& path,
                                        wire::Bytes bytes) { go(id, direction, path, bytes); });
  if (attached.node != nullptr && attached.node->deadline() <= now_) attached.node->expire(now_);
  pump(id);
}

void SimNetwork::pump(NodeId id) {
  Attached& attached = nodes_[id];
  OutPacket packet;
  while (attached.node != nullptr && attached.node->transmit(packet, now_)) send(id, packet);
  if (attached.node == nullptr) return;
  timers_.set(id, std::min(attached.node->deadline(), attached.gate.deadline()));
}

void SimNetwork::send(NodeId id, const OutPacket& packet) {
  Attached& attached = nodes_[id];
  if (!attached.gate.active()) {
    const std::uint32_t slot = new_slot();
    Packet& sent = packets_[slot];
    sent.path = *packet.path;
    make_datagram(packet, sent.datagram);
    return onto_line(id, attached.out, slot);
  }
  const Path path = *packet.path;
  make_datagram(packet, frame_);
  attached.gate.offer(FaultDirection::kOut, path, frame_, now_,
                      [this, id](FaultDirection direction, const Path& along, wire::Bytes bytes) {
                        go(id, direction, along, bytes);
                      });
}

// Handles a packet after a node's faults were applied.
void SimNetwork::go(NodeId id, FaultDirection direction, const Path& path, wire::Bytes datagram) {
  if (direction == FaultDirection::kIn) {
    deliver(id, path, datagram);
  } else {
    onto_line(id, nodes_[id].out, copy_of(path, datagram));
  }
}

void SimNetwork::onto_line(NodeId id, SimLine& line, std::uint32_t slot) {
  Packet& packet = packets_[slot];
  const std::size_t bytes = sim_wire_bytes(packet.datagram.size(), packet.path.remote.ipv6);
  const SimFate fate = line.enter(bytes, now_);
  note(fate.arrives ? Note::kSent : Note::kDropped, id, packet.datagram);
  if (!fate.arrives) return free_slot(slot);
  if (fate.corrupt) flip_a_bit(packet.datagram, line.random());
  under_way_.set(slot, fate.arrival);
  if (!fate.twice) return;
  const std::uint32_t copy = copy_of(packet.path, packet.datagram);
  packets_[copy].to = packet.to;
  packets_[copy].switched = packet.switched;
  under_way_.set(copy, fate.arrival);
}

void SimNetwork::on_switch(std::uint32_t slot) {
  Packet& packet = packets_[slot];
  const auto found = by_address_.find(packet.path.remote);
  if (found == by_address_.end()) {
    ++counters_.unroutable;
    note(Note::kUnroutable, 0, packet.datagram);
    return free_slot(slot);
  }
  packet.to = found->second;
  packet.switched = true;
  onto_line(packet.to, nodes_[packet.to].in, slot);
}

void SimNetwork::on_arrival(std::uint32_t slot) {
  Packet& packet = packets_[slot];
  const NodeId id = packet.to;
  const Path path = reversed(packet.path);
  FaultGate& gate = nodes_[id].gate;
  if (gate.active()) {
    gate.offer(FaultDirection::kIn, path, packet.datagram, now_,
               [this, id](FaultDirection direction, const Path& along, wire::Bytes bytes) {
                 go(id, direction, along, bytes);
               });
  } else {
    deliver(id, path, packet.datagram);
  }
  free_slot(slot);
  pump(id);
}

void SimNetwork::deliver(NodeId id, const Path& path, wire::Bytes datagram) {
  SimNode* const node = nodes_[id].node;
  if (node == nullptr) {
    ++counters_.unroutable;
    return note(Note::kUnroutable, id, datagram);
  }
  if (check_icrc(path, datagram, kIpId) == IcrcCheck::kBad) {
    ++counters_.icrc_drops;
    return note(Note::kIcrc, id, datagram);
  }
  ++counters_.delivered;
  note(Note::kDelivered, id, datagram);
  node->receive(path, datagram.first(datagram.size() - wire::kIcrcBytes), now_);
}

std::uint32_t SimNetwork::new_slot() {
  if (free_.empty()) {
    packets_.emplace_back();
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  packets_[slot].switched = false;
  return slot;
}

std::uint32_t SimNetwork::copy_of(const Path& path, wire::Bytes datagram) {
  const std::uint32_t slot = new_slot();
  packets_[slot].path = path;
  packets_[slot].datagram.assign(datagram.begin(), datagram.end());
  return slot;
}

// The ICRC represents the other bytes.
void SimNetwork::note(Note what, NodeId id, wire::Bytes datagram) {
  const std::uint32_t icrc = wire::load_icrc(datagram.data() + datagram.size() - wire::kIcrcBytes);
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(now_), std::uint64_t{id} << 8 | static_cast<std::uint64_t>(what),
        std::uint64_t{datagram.size()} << 32 | icrc}) {
    trace_ = Random(trace_ ^ word).next();
  }
}

}  // namespace rpcrdma::soft
