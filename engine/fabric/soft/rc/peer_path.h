// What the connections of an adapter to one peer address share: a window on their packets in
// flight, and how long answers take at present.
//
// Each connection has a window of its own (rc_requester.h). A thousand of them together would still
// overflow the peer's socket buffer, and keep packets waiting there for longer than the time-out of
// an acknowledgment. So the sum is bounded, too:
//
// - by the buffer that a peer like this side would have;
// - by the queue: if even the shortest of many round trips is long, packets wait somewhere, and
//   more of them in flight would wait longer and be served no faster;
// - by losses, but only if there are many. A network that drops one packet in a hundred has no full
//   buffer.
//
// A connection's time-out is the negotiated one (IBA 9.7.6.1.3), or twice the longest recent round
// trip if that is longer. If many connections wait, and nothing that was sent after a packet has
// been answered, the packet is in a queue or the peer sleeps: sending it again does not help.
#pragma once

#include "../cm/cm_state.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

// The place of a connection that has something to send while the window is full.
struct PathWaiter {
  std::uint32_t slot = 0;
  CmLinks<PathWaiter> links;
};

class PeerPath {
 public:
  // The window never becomes smaller: this fits into any socket buffer.
  static constexpr std::uint32_t kLeastWindow = 64;
  // With this it begins. A long queue does not make it smaller: a peer without a processor answers
  // late, too, and would get nothing to do.
  static constexpr std::uint32_t kFirstWindow = 4 * kLeastWindow;
  // Connections with packets in flight from which on a silent peer is not taken for losses.
  static constexpr std::uint32_t kMany = 4;

  // `most`: the maximum of the window, which may change; it outlives the path.
  explicit PeerPath(const std::uint32_t& most) : most_(most) { set_window(kFirstWindow); }

  [[nodiscard]] std::uint32_t window() const { return window_; }
  [[nodiscard]] std::uint32_t in_flight() const { return in_flight_; }

  // Whether the connection may send a packet. While others wait, it is its turn only after
  // next_turn().
  [[nodiscard]] bool admits(const PathWaiter& waiter) const {
    if (in_flight_ >= window_) return false;
    return turn_ == &waiter || (turn_ == nullptr && waiting_.front() == nullptr);
  }
  // Whether a packet sent now is the last one that is admitted for a while.
  [[nodiscard]] bool admits_one() const { return in_flight_ + 1 >= window_; }
  // It was not admitted.
  void wait(PathWaiter& waiter) {
    end_turn(waiter);
    waiting_.push_back(waiter);
    full_ = true;
  }
  // It has nothing more to send, or enough for now.
  void end_turn(const PathWaiter& waiter) {
    if (turn_ == &waiter) turn_ = nullptr;
  }
  // It is destroyed.
  void leave(PathWaiter& waiter) {
    end_turn(waiter);
    waiting_.remove(waiter);
  }
  // Returns the connection whose turn begins now; null: none.
  [[nodiscard]] PathWaiter* next_turn() {
    PathWaiter* const next = waiting_.front();
    if (next == nullptr || turn_ != nullptr || in_flight_ >= window_) return nullptr;
    waiting_.remove(*next);
    turn_ = next;
    return next;
  }

  // A connection has `now` packets in flight instead of `before`.
  void change(std::uint32_t before, std::uint32_t now) {
    in_flight_ += now - before;
    if ((before == 0) != (now == 0)) now == 0 ? --busy_ : ++busy_;
  }
  // A packet that was sent once was answered.
  void answered(fabric::Time sent, fabric::Time now);
  // The peer has received so many packets of a connection.
  void acknowledged(std::uint32_t packets) {
    acknowledged_ += packets;
    if (acknowledged_ >= window_) end_round();
  }
  // A connection goes back to a packet that the peer did not receive.
  void lost() { ++losses_; }

  // How long to wait for an acknowledgment, if the connection itself would wait for `least`.
  [[nodiscard]] fabric::Time patience(fabric::Time least) const {
    return std::max(least, 2 * longest());
  }
  // Whether what a connection has sent at `sent` may still be in a queue, or with a peer that
  // sleeps.
  [[nodiscard]] bool may_be_queued(fabric::Time sent) const {
    return busy_ >= kMany && newest_answered_ <= sent + std::max(kReordering, longest());
  }

 private:
  // What arrives in one turn of a peer's loop is answered in any order, and an acknowledgment may
  // wait for another turn. A peer without a processor takes long turns, as round trips show.
  static constexpr fabric::Time kReordering = 5 * fabric::kMillisecond;

  [[nodiscard]] fabric::Time longest() const { return std::max(longest_[0], longest_[1]); }
  void end_round();
  void set_window(std::uint32_t window) {
    window_ = std::max(std::min(window, most_), kLeastWindow);
  }

  const std::uint32_t& most_;
  std::uint32_t window_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t busy_ = 0;                          // connections with packets in flight
  CmList<PathWaiter, &PathWaiter::links> waiting_;  // the longest waiting first
  const PathWaiter* turn_ = nullptr;
  // For the present round, in which the peer acknowledges as many packets as fit into the window.
  std::uint32_t acknowledged_ = 0;
  std::uint32_t losses_ = 0;
  bool full_ = false;
  fabric::Time shortest_ = fabric::kNever;
  // The longest round trip of the present second, and of the one before.
  std::array<fabric::Time, 2> longest_{};
  fabric::Time second_ends_ = 0;
  fabric::Time newest_answered_ = -1;  // when the newest answered packet was sent
};

}  // namespace rpcrdma::soft
