// Writes a timeline in the Trace Event Format, as JSON, for Perfetto (ui.perfetto.dev),
// chrome://tracing, speedscope and others. docs/timelines.md describes tracks and events.
#pragma once

#include <cstdint>
#include <memory>

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

[[nodiscard]] std::unique_ptr<Format> make_perfetto(Write write);
// The same, with the tracks of `ends`: one group for each point of a connection. `ends` may be null
// and must outlive the format. `shift_ns`: from its clock to that of the timeline.
[[nodiscard]] std::unique_ptr<Format> make_perfetto(Write write, const ends::Ends* ends,
                                                    std::int64_t shift_ns);

}  // namespace rpcrdma::timeline
