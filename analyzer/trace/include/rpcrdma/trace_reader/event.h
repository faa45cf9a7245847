// One event of a recording or of a live endpoint, for those who want more of it than messages and
// RDMA operations.
#pragma once

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::trace_reader {

// Valid during the call only. What is in `view` is the writer's: untrusted.
struct Event {
  trace::EventView view;
  roce::PacketMeta meta;                         // number and wall-clock time of its frame
  const roce::Connection* connection = nullptr;  // null: of none, or of one that nobody told of
  std::uint8_t local = 0;                        // the side of `connection` that tells

  // The side of `connection` that an event means by 0 (this endpoint) or 1 (its peer).
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
  // Every event of a known type, before roce::Listener is told what follows from it; only a
  // connection is known already when its Connection event comes.
  virtual void on_event(const Event& event) = 0;
};

}  // namespace rpcrdma::trace_reader
