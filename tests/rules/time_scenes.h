// Scenes of servers that stand still, of outages, and of a server that got slower.
#pragma once

#include "scene.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rpcrdma::scenes {

struct TimeScene {
  std::string name;  // of the committed capture
  std::function<void(Scene&)> make;
};

[[nodiscard]] const std::vector<TimeScene>& time_scenes();

namespace times {

// Calls that take a millisecond each, for as long as `ns`. `xid`: of the next Call.
void ordinary(Scene& s, Connection& c, std::uint32_t& xid, std::int64_t ns);

// A server stands still, as after SIGSTOP: it neither acknowledges nor answers four Calls, the
// client retransmits them, and later everything is answered.
void stopped(Scene& s, Connection& c, std::uint32_t& xid, std::int64_t ns);

// The server closes the connection, nothing listens for a while, then a new connection is answered.
// `reason`: of the REJs.
void outage(Scene& s, std::uint16_t reason);

}  // namespace times

}  // namespace rpcrdma::scenes
