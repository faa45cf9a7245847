// Writes a timeline in the Trace Event Format, as JSON, for Perfetto (ui.perfetto.dev),
// chrome://tracing, speedscope and others. docs/timelines.md describes tracks and events.
#pragma once

#include <memory>

#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

[[nodiscard]] std::unique_ptr<Format> make_perfetto(Write write);

}  // namespace rpcrdma::timeline
