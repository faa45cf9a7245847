// The connections of one role, found by their completion queues: tracepoints do not show QP
// numbers, and each connection has a completion queue for Sends and one for Receives.
#pragma once

#include "names.h"
#include "outbox.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

namespace rpcrdma::tracepoints {

struct Connection {
  std::uint32_t number = 0;  // in events
  Address local, peer;
  bool open = false;
  bool has_send_cq = false, has_receive_cq = false;
  std::uint32_t send_cq = 0, receive_cq = 0;
  bool flushed = false;  // its Receives were flushed: it ends
};

class Connections {
 public:
  using Id = std::uint32_t;  // 0: none

  Connections(Outbox& outbox, kernel::EventSink& sink, bool active)
      : outbox_(outbox), sink_(sink), active_(active) {}

  // A new connection; 0: there are too many.
  [[nodiscard]] Id add();
  [[nodiscard]] Connection& operator[](Id id) { return connections_[id - 1]; }

  [[nodiscard]] Id by_send_cq(std::uint32_t cq) const { return find(send_, cq); }
  [[nodiscard]] Id by_receive_cq(std::uint32_t cq) const { return find(receive_, cq); }
  [[nodiscard]] Id by_any_cq(std::uint32_t cq) const {
    const Id id = by_receive_cq(cq);
    return id != 0 ? id : by_send_cq(cq);
  }
  void bind_send_cq(Id id, std::uint32_t cq);
  void bind_receive_cq(Id id, std::uint32_t cq);

  // The event that opens it. `replayed`: it was established before the trace begins.
  [[nodiscard]] trace::Connection opening(Id id, bool replayed) const;
  // Emits the event that ends it.
  void end(Id id, std::int64_t time, std::uint8_t side, bool failed, std::string_view reason);
  // Ends those whose Receives were flushed.
  void end_flushed(std::int64_t time);
  // Emits the end of a connection that was never established.
  void refused(const Address& peer, std::int64_t time, std::string_view reason);

  // Open connections with this peer; its port counts if both are known.
  template <typename Visit>
  void with_peer(const Address& peer, Visit&& visit) {
    for (Id id = 1; id <= connections_.size(); ++id) {
      const Connection& c = connections_[id - 1];
      if (c.open && is_same(c.peer, peer)) visit(id);
    }
  }
  [[nodiscard]] static bool is_same(const Address& a, const Address& b) {
    return a.known && b.known && a.bytes == b.bytes &&
           (a.port == b.port || a.port == 0 || b.port == 0);
  }

 private:
  static constexpr std::size_t kMost = 4096;
  using ByCq = tsl::robin_map<std::uint32_t, Id>;
  static Id find(const ByCq& map, std::uint32_t cq) {
    const auto it = map.find(cq);
    return it != map.end() ? it->second : 0;
  }

  Outbox& outbox_;
  kernel::EventSink& sink_;
  bool active_;
  std::vector<Connection> connections_;
  std::size_t free_from_ = 0;
  ByCq send_, receive_;
};

}  // namespace rpcrdma::tracepoints
