// What the page of a fleet shows at one moment, as plain values. Names and texts in it are of
// unknown origin: one_line() before display.
#pragma once

#include <QMetaType>
#include <cstdint>
#include <memory>
#include <vector>

#include <rpcrdma/fleet/summary.h>
#include <rpcrdma/fleet/view.h>

namespace rpcrdma::gui {

struct FleetShown {
  fleet::FleetState state;
  bool connecting = false;                   // for the first time
  std::vector<fleet::FindingNote> findings;  // the newest first; each finding once
  std::uint64_t findings_dropped = 0;  // older ones beyond kMostFleetFindings, and undelivered ones
};

inline constexpr std::size_t kMostFleetFindings = 1000;

}  // namespace rpcrdma::gui

Q_DECLARE_METATYPE(std::shared_ptr<const rpcrdma::gui::FleetShown>)
