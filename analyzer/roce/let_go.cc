// When there are more connections than are followed. Those that are over go first, then the one
// that was idle longest, so that new traffic is always followed.
//
// `idle` has every connection in that order, by its last packet at the time it was put there:
// packets do not touch it. Whoever is first and has had a packet since is put where it belongs. So
// each step is paid for by a packet.
#include "state.h"

#include <algorithm>

#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::roce {

namespace {

bool is_open(const ConnectionState& c) {
  return c.state < State::kRejected && !c.merged_away;
}

}  // namespace

void Tracker::Impl::make_room() {
  while (connections.size() >= kMaxConnections) {
    ConnectionState& c = *connections.find(idle.begin()->index);
    if (c.idle.last_frame != c.last_frame) {
      requeue(c);
    } else {
      let_go(c);
    }
  }
}

void Tracker::Impl::requeue(ConnectionState& c) {
  auto node = idle.extract(c.idle);
  c.idle = {is_open(c), c.last_frame, c.index};
  node.value() = c.idle;
  idle.insert(std::move(node));
}

// Nothing may name it afterwards: what is named by its addresses and numbers is found by them.
void Tracker::Impl::let_go(ConnectionState& c) {
  c.let_go = true;
  forget_one_sided(c);
  std::erase(unanswered, &c);
  unbind(c);
  for (const Side& side : c.side) {
    if (!side.cm.seen) continue;
    const auto it = by_comm_id.find({side.address, side.cm.comm_id});
    if (it != by_comm_id.end() && it->second.connection == &c) by_comm_id.erase(it);
  }
  if (is_open(c)) {
    flush(c, 0);
    flush(c, 1);
    listener.on_close(c);
  }
  stats.let_go += c.merged_away ? 0 : 1;
  listener.on_let_go(c);
  idle.erase(c.idle);
  connections.erase(c.index);
}

}  // namespace rpcrdma::roce
