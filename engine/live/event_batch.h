// Some events on their way from the rings to all who read: each is made a block of the capture
// format once, however many read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace/packet_tap.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {

struct EventBatch {
  struct Event {
    std::uint32_t end = 0;  // of its block, from the beginning of `blocks`
    std::uint32_t ring = 0;
  };
  struct RingLoss {
    std::uint32_t ring = 0;
    std::uint64_t events = 0;
  };

  // `wall_offset`: from the event's time to the block's. A packet is a block already.
  void put(const EventHeader& header, std::span<const std::uint8_t> event,
           std::int64_t wall_offset) {
    put_at(header.time, header, event, wall_offset);
  }
  // The block has the time `at` of the endpoint's clock, not that of the event in it.
  void put_at(std::int64_t at, const EventHeader& header, std::span<const std::uint8_t> event,
              std::int64_t wall_offset) {
    if (events.empty()) time = at;
    if (header.type == kPacketBlock) {
      blocks.block(event.subspan(sizeof header, header.payload));
    } else {
      blocks.packet(at + wall_offset, kUpperPduTags, event);
    }
    events.push_back({static_cast<std::uint32_t>(blocks.bytes().size()), header.ring});
  }
  void clear() {
    blocks.clear();
    events.clear();
    lost.clear();
  }
  [[nodiscard]] bool empty() const { return events.empty() && lost.empty(); }

  std::vector<RingLoss> lost;  // in rings, before these events came
  std::int64_t time = 0;       // of the first block, or when the losses were seen
  base::PcapngBlocks blocks;
  std::vector<Event> events;
};

}  // namespace rpcrdma::trace
