// The side that a Call's time is blamed on, with the stage.
#pragma once

#include <string>
#include <string_view>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::report {

// "server: executing", "network: to the server", "no side to blame", "inconclusive".
[[nodiscard]] inline std::string side_text(const ends::EndsCall& c) {
  if (c.side == ends::Side::kNone) return "no side to blame";
  if (c.side == ends::Side::kInconclusive) return "inconclusive";
  const std::string side = ends::side_key(c.side);
  std::string_view stage = ends::stage_text(c.stage);
  // The name of a stage can begin with that of its side.
  if (stage.starts_with(side)) {
    stage.remove_prefix(side.size());
    while (stage.starts_with(',') || stage.starts_with(' ')) stage.remove_prefix(1);
  }
  return side + ": " + std::string(stage);
}

}  // namespace rpcrdma::report
