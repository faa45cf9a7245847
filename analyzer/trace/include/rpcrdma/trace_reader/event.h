// One event of a recording or of a live endpoint, for observers that need more than messages and
// RDMA operations.
#pragma once

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace_reader {

// Returns where such a source is.
[[nodiscard]] constexpr roce::Origin origin_of(trace::EventSource source) {
  switch (source) {
    case trace::EventSource::kKernelBpf:
      return roce::Origin::kKernelBpf;
    case trace::EventSource::kKernelTracepoints:
      return roce::Origin::kKernelTracepoints;
    case trace::EventSource::kKernelSums:
      return roce::Origin::kKernelSums;
    case trace::EventSource::kEndpoint:
      break;
  }
  return roce::Origin::kEndpoint;
}

// Valid during the call only. `view` comes from the writer: untrusted.
struct Event {
  trace::EventView view;
  roce::PacketMeta meta;                         // number and wall-clock time of its frame
  const roce::Connection* connection = nullptr;  // null: none, or unknown to this reader
  std::uint8_t local = 0;                        // the recording endpoint's side of `connection`

  // Converts an event's side, 0 (this endpoint) or 1 (its peer), to a side of `connection`.
  [[nodiscard]] std::uint8_t side(std::uint8_t recorded) const {
    return recorded == 0 ? local : static_cast<std::uint8_t>(1 - local);
  }
  [[nodiscard]] trace::EventType type() const {
    return static_cast<trace::EventType>(view.header.type);
  }
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Called for every event of a known type, before roce::Listener is called with its consequences.
  // At a Connection event, however, the connection already exists.
  virtual void on_event(const Event& event) = 0;
};

}  // namespace rpcrdma::trace_reader
