// Brings a recording of an endpoint of another host here, by its agent.
#pragma once

#include <functional>
#include <string>

#include <rpcrdma/base/error.h>
#include <rpcrdma/fleet/bus.h>

namespace rpcrdma::gui {

// Waits for the whole recording, which appears at `path` when it is whole. `endpoint`: name or
// process ID; empty: the host's only one. Error: one line.
[[nodiscard]] base::Expected<void> bring_recording(fleet::Bus& bus, const std::string& host,
                                                   const std::string& endpoint, int seconds,
                                                   const std::string& path,
                                                   const std::function<bool()>& interrupted);

}  // namespace rpcrdma::gui
