// Decides who may be connected to the HTTP server, and for how long. A new client always gets a
// place: if there are too many, the connection of another one ends. So silent, slow and deaf
// clients cannot keep a scraper out, wherever they come from.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include <sys/socket.h>

namespace rpcrdma::metrics {

// The host, or the network, that shares places: an IPv4 address, or 64 bits of an IPv6 address,
// since a host has as many of the rest as it likes.
using PeerKey = std::array<std::uint8_t, 16>;
[[nodiscard]] PeerKey peer_key(const sockaddr& address);

struct DoorLimits {
  std::size_t places = 64;
  std::size_t places_of_a_peer = 16;
  // From accept() to a complete request, TLS included.
  std::chrono::milliseconds request{5000};
  // From there until the answer has been sent. Prometheus itself waits ten seconds.
  std::chrono::milliseconds answer{10'000};
};

class Door {
 public:
  // `end` ends a connection by its socket, and is called while the socket is open; shutdown() in
  // the server, and other things in tests.
  Door(const DoorLimits& limits, std::function<void(int)> end);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // For any thread. A socket came, its request is complete, it will be closed.
  void came(int fd, const PeerKey& peer);
  void requested(int fd);
  void leaves(int fd);

 private:
  using Clock = std::chrono::steady_clock;

  struct Place {
    PeerKey peer{};
    std::uint64_t turn = 0;  // orders places by age
    Clock::time_point deadline;
    bool requested = false;
    bool ended = false;  // the server closes it soon
  };

  void make_room(const PeerKey& newcomer);
  template <typename OfPeer>
  void end_oldest(const OfPeer& of_peer);
  void end_place(int fd, Place& place);
  void watch();

  const DoorLimits limits_;
  const std::function<void(int)> end_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Place> places_;
  std::map<PeerKey, std::size_t> taken_;  // places that are not ended
  std::size_t all_taken_ = 0;
  std::uint64_t turns_ = 0;
  bool stops_ = false;
  std::thread watcher_;
};

}  // namespace rpcrdma::metrics
