// Half-open connections: a REQ has come, but its sender has not proved that the address is its own.
// The proof is an RTU, or a packet, that names the numbers in our REP. Until then, a connection may
// lose its place to a newer one, and no more is sent to its address than came from there.
#include "cm_impl.h"

#include <algorithm>

namespace rpcrdma::soft {
namespace {

// Longer than the way to an honest peer and back. A younger connection keeps its place: under a
// flood, some requests then find no place and are repeated, but those that found one succeed. Not a
// part of half a second or of a second: under a flood the places become free in waves of this
// length, and repeated requests must not miss every one.
constexpr fabric::Time kMinAge = 180 * fabric::kMillisecond;
// The part of the places that a requester has at least, so that a flood from many addresses, which
// fills all of them, does not restrict an honest one to a single request at a time.
constexpr std::size_t kLeastPart = 64;

// A peer that has another connection is trusted with repeated messages for this many: enough for
// one that reconnects, and too few for a flood with its address to multiply.
constexpr std::size_t kTrusted = 8;

}  // namespace

fabric::Address cm_requester(const fabric::Address& address) {
  fabric::Address requester = address;
  if (address.ipv6) std::fill(requester.bytes.begin() + 8, requester.bytes.end(), 0);
  return requester;
}

bool ConnectionManager::Impl::make_half_open_room(const fabric::Address& peer, fabric::Time now) {
  const std::size_t left = limits.half_open - std::min(limits.half_open, half_open_total);
  const std::size_t most = std::max({left, limits.half_open / kLeastPart, std::size_t{1}});
  const auto of_peer = requesters.find(cm_requester(peer));
  CmConnection* victim = nullptr;
  if (of_peer != requesters.end() && of_peer->second.count >= most) {
    victim = of_peer->second.connections.front();
  } else if (left > 0) {
    return true;
  } else {
    victim = half_open.front();
  }
  if (victim == nullptr || now - victim->asked < kMinAge) return false;
  ++counters.evicted;
  emit(*victim, CmEventType::kTimedOut);
  // If the peer repeats its REQ, that is a new one.
  erase(*victim);
  return true;
}

void ConnectionManager::Impl::enter_half_open(CmConnection& c) {
  CmRequester& requester = requesters[cm_requester(c.path.remote)];
  ++requester.count;
  ++half_open_total;
  requester.connections.push_back(c);
  half_open.push_back(c);
}

void ConnectionManager::Impl::leave_half_open(CmConnection& c) {
  if (!c.half_open.linked) return;
  const auto it = requesters.find(cm_requester(c.path.remote));
  it->second.connections.remove(c);
  if (--it->second.count == 0) requesters.erase(it);
  half_open.remove(c);
  --half_open_total;
}

bool ConnectionManager::Impl::may_send(const CmConnection& c) const {
  if (c.active || c.proven || c.unanswered > 0) return true;
  const fabric::Address& peer = c.path.remote;
  const auto known = by_remote_qpn.lower_bound({peer, 0});
  if (known == by_remote_qpn.end() || known->first.first != peer) return false;
  const auto requester = requesters.find(cm_requester(peer));
  return requester == requesters.end() || requester->second.count <= kTrusted;
}

}  // namespace rpcrdma::soft
