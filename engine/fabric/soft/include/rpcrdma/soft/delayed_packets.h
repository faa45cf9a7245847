// Packets that a fault delays: until a time, or until later packets of their stream have passed.
// Owns copies of them, up to a total size; a packet counts as at least kLeast bytes, so that their
// number is bounded too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/fabric/time_heap.h>
#include <rpcrdma/soft/fault_rules.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

struct DelayedPacket {
  FaultDirection direction = FaultDirection::kOut;
  Path path;
  std::vector<std::uint8_t> datagram;  // BTH through ICRC
};

class DelayedPackets {
 public:
  static constexpr std::size_t kLeast = 512;

  explicit DelayedPackets(std::size_t max_bytes = 4 << 20);

  // Copies the packet; false if there is no room. The packet is then lost, as in a full queue.
  [[nodiscard]] bool delay(FaultDirection direction, const Path& path, wire::Bytes datagram,
                           fabric::Time until);
  // Releases the packet after `packets` later ones of `stream` have passed, or at `until`.
  [[nodiscard]] bool hold(FaultDirection direction, const Path& path, wire::Bytes datagram,
                          fabric::Time until, std::uint64_t stream, std::uint64_t packets);
  // A packet of the stream has passed. Held packets that waited for it are due now.
  void passed(std::uint64_t stream, fabric::Time now);

  // The time when the next is due, or kNever.
  [[nodiscard]] fabric::Time deadline() const { return due_.first_time(); }
  // Removes and returns the first packet due at `now`; valid until the next call on this object.
  // Null: none is due.
  [[nodiscard]] const DelayedPacket* take(fabric::Time now);

  [[nodiscard]] std::size_t size() const { return due_.size(); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Slot {
    DelayedPacket packet;
    std::uint64_t stream = 0;
    std::uint64_t packets = 0;   // that it waits for; 0: not held
    std::uint32_t next = kNone;  // the next held one in the same bucket, or the next free one
  };

  // Returns kNone if there is no room.
  std::uint32_t keep(FaultDirection direction, const Path& path, wire::Bytes datagram,
                     fabric::Time until);
  void unchain(std::uint32_t number);
  [[nodiscard]] std::uint32_t& bucket(std::uint64_t stream) { return held_[stream % held_.size()]; }

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::size_t held_count_ = 0;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  std::array<std::uint32_t, 64> held_;  // by stream: the first of a chain
  fabric::TimeHeap due_;
};

}  // namespace rpcrdma::soft
