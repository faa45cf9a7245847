// A tracer, and which connection it is to be told of: what each part of a connection keeps.
//
//   if (trace.on()) trace.tell(now, trace::Withdraw{handle, trace::kHere, {}});
#pragma once

#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace {

// Who did something, as events say it.
inline constexpr std::uint8_t kHere = 0;
inline constexpr std::uint8_t kPeer = 1;

// Of a Send, and of what an RDMA Read or Write moves, so many bytes are told: a usual header and
// RPC header, and what an upper layer begins with. Of a Send with a longer header that, too, and
// some of what follows it; but never more than kLongestMessageTail, and as much of one that is
// malformed.
inline constexpr std::size_t kMessageTail = 512;
inline constexpr std::size_t kBehindHeader = 256;
inline constexpr std::size_t kLongestMessageTail = 16384;
inline constexpr std::size_t kOperationTail = 256;

struct ConnectionTracer {
  Tracer* tracer = nullptr;  // its owner's; null: nobody is told anything
  std::uint32_t connection = 0;

  [[nodiscard]] bool on() const { return trace::on(tracer); }
  // As of Tracer.
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
