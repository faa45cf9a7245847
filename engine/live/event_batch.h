// A batch of events on its way from the rings to all readers. Each event is encoded as a block of
// the capture format once, however many readers there are.
#pragma once

#include <algorithm>
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
    std::uint32_t end = 0;  // of its block, relative to the start of `blocks`
    std::uint32_t ring = 0;
  };
  struct RingLoss {
    std::uint32_t ring = 0;
    std::uint64_t events = 0;
  };

  // `wall_offset`: added to the event's time to get the block's time. A packet already is a block.
  void put(const EventHeader& header, std::span<const std::uint8_t> event,
           std::int64_t wall_offset) {
    put_at(header.time, header, event, wall_offset);
  }
  // Gives the block the time `at` of the endpoint's clock instead of the event's time.
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
  // Counts an event instead of encoding it.
  void pass_over(std::uint32_t ring) {
    const auto counted = std::find_if(passed_over.begin(), passed_over.end(),
                                      [ring](const RingLoss& of) { return of.ring == ring; });
    ++(counted != passed_over.end() ? *counted : passed_over.emplace_back(RingLoss{ring, 0}))
          .events;
  }
  void clear() {
    blocks.clear();
    passed_over.clear();
    events.clear();
    lost.clear();
  }
  [[nodiscard]] bool empty() const { return events.empty() && lost.empty() && passed_over.empty(); }

  std::vector<RingLoss> lost;  // lost in rings before these events
  std::int64_t time = 0;       // of the first block, or when the losses were found
  base::PcapngBlocks blocks;
  std::vector<Event> events;
  // Events that no reader has room for; then there are no others.
  std::vector<RingLoss> passed_over;
};

}  // namespace rpcrdma::trace
