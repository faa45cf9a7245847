#include "connections.h"

#include <span>

namespace rpcrdma::tracepoints {
namespace {

std::span<const std::uint8_t> text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Connections::Id Connections::add() {
  std::size_t at = connections_.size();
  if (connections_.size() < kMost) {
    connections_.emplace_back();
  } else {
    for (std::size_t tries = 0; tries < kMost; ++tries) {
      at = free_from_ = (free_from_ + 1) % kMost;
      if (!connections_[at].open) break;
    }
    if (connections_[at].open) return 0;
  }
  Connection& c = connections_[at];
  c = {};
  c.open = true;
  c.number = sink_.new_connection();
  return static_cast<Id>(at + 1);
}

void Connections::bind_send_cq(Id id, std::uint32_t cq) {
  Connection& c = (*this)[id];
  if (c.has_send_cq) return;
  c.has_send_cq = true;
  c.send_cq = cq;
  send_[cq] = id;
}

void Connections::bind_receive_cq(Id id, std::uint32_t cq) {
  Connection& c = (*this)[id];
  if (c.has_receive_cq) return;
  c.has_receive_cq = true;
  c.receive_cq = cq;
  receive_[cq] = id;
}

trace::Connection Connections::opening(Id id, bool replayed) const {
  const Connection& c = connections_[id - 1];
  trace::Connection e;
  e.local = c.local.bytes;
  e.peer = c.peer.bytes;
  e.port = active_ ? c.peer.port : c.local.port;
  e.active = active_ ? 1 : 0;
  e.private_data_unknown = 1;
  e.replayed = replayed ? 1 : 0;
  return e;
}

void Connections::end(Id id, std::int64_t time, std::uint8_t side, bool failed,
                      std::string_view reason) {
  Connection& c = (*this)[id];
  if (!c.open) return;
  trace::ConnectionEnd e;
  e.side = side;
  e.established = 1;
  e.failed = failed ? 1 : 0;
  outbox_.emit(c.number, time, e, text_bytes(reason));
  c.open = false;
  const auto forget = [id](ByCq& map, bool has, std::uint32_t cq) {
    const auto it = has ? map.find(cq) : map.end();
    if (it != map.end() && it->second == id) map.erase(it);
  };
  forget(send_, c.has_send_cq, c.send_cq);
  forget(receive_, c.has_receive_cq, c.receive_cq);
}

void Connections::end_flushed(std::int64_t time) {
  for (Id id = 1; id <= connections_.size(); ++id) {
    if (connections_[id - 1].open && connections_[id - 1].flushed) {
      end(id, time, 1, false, "its Receives were flushed");
    }
  }
}

void Connections::refused(const Address& peer, std::int64_t time, std::string_view reason) {
  trace::ConnectionEnd e;
  e.failed = 1;
  e.peer = peer.bytes;
  e.port = active_ ? peer.port : 0;
  e.active = active_ ? 1 : 0;
  outbox_.emit(sink_.new_connection(), time, e, text_bytes(reason));
}

}  // namespace rpcrdma::tracepoints
