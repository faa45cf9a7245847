// Draws the view of a fleet as lines of text. Pure functions: no clock, no terminal.
#pragma once

#include <vector>

#include <rpcrdma/top/draw.h>
#include <rpcrdma/top/fleet_shown.h>

namespace rpcrdma::top {

// Draws a screen of as many lines as `size` requests, each exactly as wide. Text from agents is
// escaped.
[[nodiscard]] std::vector<Line> draw(const FleetShown& shown, const FleetView& view,
                                     const Size& size, bool utf8);

// The hosts, their endpoints and the events without keys and selection, as long as necessary, for
// files and scripts.
[[nodiscard]] std::vector<Line> draw_plain(const FleetShown& shown, std::size_t width, bool utf8);
// Only the hosts, for `rpcrdma fleet hosts`.
[[nodiscard]] std::vector<Line> draw_hosts(const FleetShown& shown, std::size_t width, bool utf8);

}  // namespace rpcrdma::top
