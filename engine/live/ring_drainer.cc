#include "ring_drainer.h"

#include <algorithm>

namespace rpcrdma::trace {

double RingDrainer::pass(std::int64_t now, std::int64_t wall_offset, const Out& out, bool encode) {
  const double fullest = open(now);
  std::int64_t until = 0;
  while (Ring::Batch* const from = earliest(until)) {
    do {
      snapshot_.take(from->header(), from->event());
      if (out && encode) {
        batch_.put(from->header(), from->event(), wall_offset);
      } else if (out) {
        batch_.pass_over(from->header().ring);
      }
      from->next();
      if (batch_.blocks.bytes().size() >= kBatchBytes) hand_out(out);
    } while (!from->empty() && from->header().time <= until);
  }
  hand_out(out);
  return fullest;
}

double RingDrainer::open(std::int64_t now) {
  double fullest = 0;
  open_.clear();
  batch_.time = now;
  for (Source& source : sources_) {
    const Ring::Batch& events = open_.emplace_back(*source.ring);
    fullest = std::max(fullest, static_cast<double>(events.bytes_left()) /
                                    static_cast<double>(source.ring->bytes()));
    if (events.lost() == source.lost) continue;
    batch_.lost.push_back({source.number, events.lost() - source.lost});
    source.lost = events.lost();
  }
  return fullest;
}

Ring::Batch* RingDrainer::earliest(std::int64_t& until) {
  Ring::Batch* first = nullptr;
  until = INT64_MAX;
  for (Ring::Batch& events : open_) {
    if (events.empty()) continue;
    if (first == nullptr || events.header().time < first->header().time) {
      if (first != nullptr) until = first->header().time;
      first = &events;
    } else {
      until = std::min(until, events.header().time);
    }
  }
  return first;
}

void RingDrainer::hand_out(const Out& out) {
  if (out && !batch_.empty()) out(batch_);
  batch_.clear();
  for (Ring::Batch& events : open_) events.give_back();
}

}  // namespace rpcrdma::trace
