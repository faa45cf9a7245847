#include "connections.h"

#include <span>
#include <vector>

namespace rpcrdma::tracepoints {
namespace {

std::span<const std::uint8_t> text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Connections::Id Connections::add() {
  if (open_.size() >= kMost) return 0;
  const Id id = sink_.new_connection();
  if (id != 0) open_[id] = {};
  return id;
}

void Connections::bind_send_cq(Id id, std::uint32_t cq) {
  Connection* const c = find(id);
  if (c == nullptr || c->has_send_cq) return;
  c->has_send_cq = true;
  c->send_cq = cq;
  send_[cq] = id;
}

void Connections::bind_receive_cq(Id id, std::uint32_t cq) {
  Connection* const c = find(id);
  if (c == nullptr || c->has_receive_cq) return;
  c->has_receive_cq = true;
  c->receive_cq = cq;
  receive_[cq] = id;
}

trace::Connection Connections::opening(Id id) const {
  trace::Connection e;
  const auto it = open_.find(id);
  if (it == open_.end()) return e;
  const Connection& c = it->second;
  e.local = c.local.bytes;
  e.peer = c.peer.bytes;
  e.port = active_ ? c.peer.port : c.local.port;
  e.active = active_ ? 1 : 0;
  e.private_data_unknown = 1;
  e.replayed = c.replayed ? 1 : 0;
  return e;
}

void Connections::open_now(Id id, std::int64_t time) {
  outbox_.emit(id, time, opening(id));
}

void Connections::open_later(Id id, std::int64_t time) {
  Connection* const c = find(id);
  if (c == nullptr) return;
  c->opening = outbox_.reserve(time);
  outbox_.put(c->opening, id, opening(id));
}

void Connections::announce(Id id) {
  Connection* const c = find(id);
  if (c == nullptr || c->opening == 0) return;
  outbox_.put(c->opening, id, opening(id));
  outbox_.release(c->opening);
}

void Connections::end(Id id, std::int64_t time, std::uint8_t side, bool failed,
                      std::string_view reason) {
  Connection* const c = find(id);
  if (c == nullptr) return;
  announce(id);
  trace::ConnectionEnd e;
  e.side = side;
  e.established = 1;
  e.failed = failed ? 1 : 0;
  outbox_.emit(id, time, e, text_bytes(reason));
  const auto forget = [id](ByCq& map, bool has, std::uint32_t cq) {
    const auto it = has ? map.find(cq) : map.end();
    if (it != map.end() && it->second == id) map.erase(it);
  };
  forget(send_, c->has_send_cq, c->send_cq);
  forget(receive_, c->has_receive_cq, c->receive_cq);
  open_.erase(id);
}

void Connections::end_flushed(std::int64_t time) {
  std::vector<Id> ids;
  for (const auto& [id, c] : open_) {
    if (c.flushed) ids.push_back(id);
  }
  for (const Id id : ids) end(id, time, 1, false, "its Receives were flushed");
}

void Connections::announce_all() {
  for (const auto& [id, c] : open_) announce(id);
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
