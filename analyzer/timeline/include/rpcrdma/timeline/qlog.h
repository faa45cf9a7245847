// Writes a timeline as qlog 0.4 (draft-ietf-quic-qlog-main-schema-08) in its streaming form: a JSON
// text sequence (RFC 7464) with one record per event. docs/timelines.md describes the events.
#pragma once

#include <memory>

#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

[[nodiscard]] std::unique_ptr<Format> make_qlog(Write write);

}  // namespace rpcrdma::timeline
