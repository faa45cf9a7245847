// Evicts connections when there are more than the tracker follows; see idle_order.h.
#include "state.h"

#include <algorithm>

#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::roce {

void Tracker::Impl::make_room() {
  while (connections.size() >= kMaxConnections) {
    evict(idle.first(
        [this](std::uint32_t index) -> ConnectionState& { return *connections.find(index); }));
  }
}

// Nothing may refer to the connection afterwards: removes it from every table that finds
// connections by address or number.
void Tracker::Impl::evict(ConnectionState& c) {
  c.evict = true;
  forget_one_sided(c);
  std::erase(unanswered, &c);
  unbind(c);
  for (const Side& side : c.side) {
    if (!side.cm.seen) continue;
    const auto it = by_comm_id.find({side.address, side.cm.comm_id});
    if (it != by_comm_id.end() && it->second.connection == &c) by_comm_id.erase(it);
  }
  if (IdleOrder::is_open(c)) {
    flush(c, 0);
    flush(c, 1);
    c.ended_ns = c.last_ns;  // later traffic is not followed
    listener.on_close(c);
  }
  stats.evict += c.merged_away ? 0 : 1;
  listener.on_evict(c);
  idle.erase(c.idle);
  connections.erase(c.index);
}

}  // namespace rpcrdma::roce
