// The connections of one role, found by their completion queues: tracepoints do not show QP
// numbers, and each connection has a completion queue for Sends and one for Receives.
#pragma once

#include "names.h"
#include "outbox.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include <tsl/robin_map.h>

namespace rpcrdma::tracepoints {

struct Connection {
  Address local, peer;
  bool has_send_cq = false, has_receive_cq = false;
  std::uint32_t send_cq = 0, receive_cq = 0;
  bool flushed = false;  // its Receives were flushed: it ends
  // Its opening event waits here for the addresses.
  Outbox::Place opening = 0;
  bool replayed = false;  // it was established before the trace begins
};

class Connections {
 public:
  using Id = std::uint32_t;  // its number in events; never used again; 0: none

  Connections(Outbox& outbox, kernel::EventSink& sink, bool active)
      : outbox_(outbox), sink_(sink), active_(active) {}

  // A new connection; 0: there are too many.
  [[nodiscard]] Id add();
  // Null: it has ended.
  [[nodiscard]] Connection* find(Id id) {
    const auto it = open_.find(id);
    return it != open_.end() ? &it->second : nullptr;
  }
  // Returns the number if it is open, else 0: events of a connection that has ended belong to none.
  [[nodiscard]] Id if_open(Id id) { return find(id) != nullptr ? id : 0; }

  [[nodiscard]] Id by_send_cq(std::uint32_t cq) const { return find(send_, cq); }
  [[nodiscard]] Id by_receive_cq(std::uint32_t cq) const { return find(receive_, cq); }
  [[nodiscard]] Id by_any_cq(std::uint32_t cq) const {
    const Id id = by_receive_cq(cq);
    return id != 0 ? id : by_send_cq(cq);
  }
  void bind_send_cq(Id id, std::uint32_t cq);
  void bind_receive_cq(Id id, std::uint32_t cq);

  // The event that opens it.
  [[nodiscard]] trace::Connection opening(Id id) const;
  // Emits that event now, or reserves its place until the addresses are known.
  void open_now(Id id, std::int64_t time);
  void open_later(Id id, std::int64_t time);
  // Emits the event in its place with what is known now.
  void announce(Id id);
  // Emits the event that ends it.
  void end(Id id, std::int64_t time, std::uint8_t side, bool failed, std::string_view reason);
  // Ends those whose Receives were flushed.
  void end_flushed(std::int64_t time);
  void announce_all();
  // Emits the end of a connection that was never established.
  void refused(const Address& peer, std::int64_t time, std::string_view reason);

  // Open connections with this peer; its port counts if both are known.
  template <typename Visit>
  void with_peer(const Address& peer, Visit&& visit) {
    for (auto& [id, c] : open_) {
      if (is_same(c.peer, peer)) visit(id, c);
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
  std::map<Id, Connection> open_;
  ByCq send_, receive_;
};

}  // namespace rpcrdma::tracepoints
