#include "tracer_sink.h"

#include <utility>

#include <rpcrdma/base/text.h>

namespace rpcrdma::kernel_endpoint {

void TracerSink::event(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
                       std::span<const std::uint8_t> payload,
                       std::span<const std::uint8_t> extra_payload) {
  switch (static_cast<trace::EventType>(header.type)) {
    case trace::EventType::kConnection:
      if (open_.size() < kMostConnections) open_.insert(header.connection);
      break;
    case trace::EventType::kConnectionEnd:
      open_.erase(header.connection);
      break;
    default:
      break;
  }
  ++events_;
  if (watcher_) watcher_(header, fixed, payload);
  tracer_.emit_assembled(header, fixed, payload, extra_payload);
}

void TracerSink::lost(std::uint64_t count) {
  lost_ += count;
  tracer_.lose(count);
}

void TracerSink::close_all(std::int64_t now, const std::string& reason) {
  trace::ConnectionEnd end;
  end.established = 1;
  for (const std::uint32_t connection : std::exchange(open_, {})) {
    emit(connection, now, end, base::as_bytes(reason));
  }
}

}  // namespace rpcrdma::kernel_endpoint
