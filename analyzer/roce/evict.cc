// When there are more connections than are followed: see idle_order.h.
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

// Nothing may name it afterwards: what is named by its addresses and numbers is found by them.
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
    c.ended_ns = c.last_ns;  // what came of it later nobody follows
    listener.on_close(c);
  }
  stats.evict += c.merged_away ? 0 : 1;
  listener.on_evict(c);
  idle.erase(c.idle);
  connections.erase(c.index);
}

}  // namespace rpcrdma::roce
