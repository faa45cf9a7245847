#include <algorithm>

#include <rpcrdma/soft/delayed_packets.h>

namespace rpcrdma::soft {
namespace {

std::size_t charge(wire::Bytes datagram) {
  return std::max(datagram.size(), DelayedPackets::kLeast);
}

}  // namespace

DelayedPackets::DelayedPackets(std::size_t max_bytes) : max_bytes_(max_bytes) {
  held_.fill(kNone);
}

bool DelayedPackets::delay(FaultDirection direction, const Path& path, wire::Bytes datagram,
                           fabric::Time until) {
  return keep(direction, path, datagram, until) != kNone;
}

bool DelayedPackets::hold(FaultDirection direction, const Path& path, wire::Bytes datagram,
                          fabric::Time until, std::uint64_t stream, std::uint64_t packets) {
  const std::uint32_t number = keep(direction, path, datagram, until);
  if (number == kNone) return false;
  Slot& slot = slots_[number];
  slot.stream = stream;
  slot.packets = packets;
  // Append to the chain, so that the packet held first is due first.
  std::uint32_t* last = &bucket(stream);
  while (*last != kNone) last = &slots_[*last].next;
  *last = number;
  ++held_count_;
  return true;
}

void DelayedPackets::passed(std::uint64_t stream, fabric::Time now) {
  if (held_count_ == 0) return;
  for (std::uint32_t number = bucket(stream); number != kNone;) {
    Slot& slot = slots_[number];
    const std::uint32_t next = slot.next;
    if (slot.stream == stream && --slot.packets == 0) {
      unchain(number);
      due_.set(number, now);
    }
    number = next;
  }
}

const DelayedPacket* DelayedPackets::take(fabric::Time now) {
  if (due_.first_time() > now) return nullptr;
  const std::uint32_t number = due_.first();
  due_.remove(number);
  Slot& slot = slots_[number];
  if (slot.packets != 0) unchain(number);
  bytes_ -= charge(slot.packet.datagram);
  slot.next = free_;
  free_ = number;
  return &slot.packet;
}

std::uint32_t DelayedPackets::keep(FaultDirection direction, const Path& path, wire::Bytes datagram,
                                   fabric::Time until) {
  if (charge(datagram) > max_bytes_ - bytes_) return kNone;
  std::uint32_t number = free_;
  if (number == kNone) {
    number = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    free_ = slots_[number].next;
  }
  Slot& slot = slots_[number];
  slot.packet.direction = direction;
  slot.packet.path = path;
  slot.packet.datagram.assign(datagram.begin(), datagram.end());
  slot.packets = 0;
  slot.next = kNone;
  bytes_ += charge(datagram);
  due_.set(number, until);
  return number;
}

void DelayedPackets::unchain(std::uint32_t number) {
  Slot& slot = slots_[number];
  std::uint32_t* link = &bucket(slot.stream);
  while (*link != number) link = &slots_[*link].next;
  *link = slot.next;
  slot.next = kNone;
  slot.packets = 0;
  --held_count_;
}

}  // namespace rpcrdma::soft
