#include "door.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <netinet/in.h>

namespace rpcrdma::metrics {

PeerKey peer_key(const sockaddr& address) {
  PeerKey key{};
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    key[10] = key[11] = 0xff;
    std::memcpy(key.data() + 12, &v4.sin_addr, 4);
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
    std::memcpy(key.data(), &v6.sin6_addr, mapped ? 16 : 8);
  }
  return key;
}

Door::Door(const DoorLimits& limits, std::function<void(int)> end)
    : limits_(limits), end_(std::move(end)), watcher_([this] { watch(); }) {}

Door::~Door() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

void Door::came(int fd, const PeerKey& peer) {
  const std::scoped_lock lock(mutex_);
  make_room(peer);
  places_[fd] = {peer, turns_++, Clock::now() + limits_.request, false, false};
  ++taken_[peer];
  ++all_taken_;
  // The deadline of a new place is never the next one, unless it is the only one.
  if (all_taken_ == 1) changed_.notify_all();
}

void Door::requested(int fd) {
  const std::scoped_lock lock(mutex_);
  const auto at = places_.find(fd);
  if (at == places_.end() || at->second.ended || at->second.requested) return;
  at->second.requested = true;
  at->second.deadline = Clock::now() + limits_.answer;
  if (limits_.answer < limits_.request) changed_.notify_all();
}

void Door::leaves(int fd) {
  const std::scoped_lock lock(mutex_);
  const auto at = places_.find(fd);
  if (at == places_.end()) return;
  if (!at->second.ended) {
    --all_taken_;
    const auto of_peer = taken_.find(at->second.peer);
    if (--of_peer->second == 0) taken_.erase(of_peer);
  }
  places_.erase(at);
}

void Door::make_room(const PeerKey& newcomer) {
  const auto own = taken_.find(newcomer);
  if (own != taken_.end() && own->second >= limits_.places_of_a_peer) {
    return end_oldest([&](const PeerKey& peer) { return peer == newcomer; });
  }
  if (all_taken_ < limits_.places) return;
  std::size_t most = 0;
  for (const auto& [peer, places] : taken_) most = std::max(most, places);
  // Age decides among peers with as many places, not the address: the threads accept in any order,
  // and a scraper that has just come must not make room for one that came before.
  end_oldest([&](const PeerKey& peer) { return taken_.at(peer) == most; });
}

// One whose request is still incomplete, if there is any: a scraper sends its request at once.
template <typename OfPeer>
void Door::end_oldest(const OfPeer& of_peer) {
  auto oldest = places_.end();
  for (auto at = places_.begin(); at != places_.end(); ++at) {
    const Place& p = at->second;
    if (p.ended || !of_peer(p.peer)) continue;
    if (oldest == places_.end() || std::tuple(p.requested, p.turn) <
                                       std::tuple(oldest->second.requested, oldest->second.turn)) {
      oldest = at;
    }
  }
  if (oldest != places_.end()) end_place(oldest->first, oldest->second);
}

void Door::end_place(int fd, Place& place) {
  place.ended = true;
  --all_taken_;
  const auto of_peer = taken_.find(place.peer);
  if (--of_peer->second == 0) taken_.erase(of_peer);
  end_(fd);
}

void Door::watch() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    const Clock::time_point now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    for (auto& [fd, place] : places_) {
      if (place.ended) continue;
      if (place.deadline <= now) {
        end_place(fd, place);
      } else {
        next = std::min(next, place.deadline);
      }
    }
    if (next == Clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
}

}  // namespace rpcrdma::metrics
