// A tracer and the number of the connection to trace; each part of a connection has one.
//
//   if (trace.on()) trace.emit(now, trace::Invalidate{handle, trace::kHere, {}});
#pragma once

#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace {

// The side in an event: this endpoint or its peer.
inline constexpr std::uint8_t kHere = 0;
inline constexpr std::uint8_t kPeer = 1;

// Payload bytes of Message and Operation events. kMessageTail and kOperationTail cover a typical
// transport header and RPC header, and the start of an upper-layer header. A Send with a longer
// transport header gets its whole header plus kBehindHeader bytes, at most kLongestMessageTail; a
// malformed one gets kLongestMessageTail bytes.
inline constexpr std::size_t kMessageTail = 512;
inline constexpr std::size_t kBehindHeader = 256;
inline constexpr std::size_t kLongestMessageTail = 16384;
inline constexpr std::size_t kOperationTail = 256;

struct ConnectionTracer {
  Tracer* tracer = nullptr;  // its owner's; null: no tracing
  std::uint32_t connection = 0;

  [[nodiscard]] bool on() const { return trace::on(tracer); }
  // As in Tracer.
  template <typename Event>
  [[gnu::always_inline]] void emit(std::int64_t time, const Event& event,
                                   std::span<const std::uint8_t> payload = {},
                                   std::span<const std::uint8_t> extra_payload = {}) const {
    tracer->emit(connection, time, event, payload, extra_payload);
  }
  [[nodiscard, gnu::always_inline]] Tracer::Row row(std::int64_t time) const {
    return {*tracer, connection, time};
  }
};

}  // namespace rpcrdma::trace
