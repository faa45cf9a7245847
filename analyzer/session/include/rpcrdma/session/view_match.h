// Compares two views of one connection, such as the recordings of both ends, message by message.
//
// RC keeps the order of the messages of one side, so both views show them in the same order. A
// message without a counterpart, while later ones have theirs, is missing in the other view.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include <rpcrdma/roce/connection.h>
#include <rpcrdma/roce/operation.h>

namespace rpcrdma::session {

// A Send as one view shows it.
struct ViewedMessage {
  std::uint32_t xid = 0;
  std::uint32_t proc = 0;
  std::uint64_t length = 0;
  std::uint64_t start = 0;  // hash of its first kStart bytes
  std::uint64_t whole = 0;  // hash of all its bytes
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  bool length_known = false, start_known = false, whole_known = false;
  bool suspect = false;

  static constexpr std::size_t kStart = 64;
};
// Nothing: too short for a transport header.
[[nodiscard]] std::optional<ViewedMessage> viewed(const roce::SendMessage& send);
// Returns whether they agree in all that both show.
[[nodiscard]] bool same_content(const ViewedMessage& a, const ViewedMessage& b);

// A message on which two views disagree.
struct ViewDifference {
  enum class Kind : std::uint8_t {
    kOnlyHere,   // the other view misses it
    kOnlyThere,  // only the other view has it
    kContent,    // both have it, with other bytes
  };
  Kind kind = Kind::kOnlyHere;
  std::uint8_t sender = 0;  // side of the connection
  std::uint32_t xid = 0;
  std::uint64_t frame = 0;        // in the view that the report follows; 0: it is not there
  std::uint64_t other_frame = 0;  // in the other view; 0: it is not there
};
inline constexpr std::size_t kViewDifferencesListed = 16;

// Messages that one side sent, by what the two views show of them.
struct ViewCounts {
  std::uint64_t both = 0;
  std::uint64_t differ = 0;      // of those: with other bytes
  std::uint64_t only_here = 0;   // missing in the other view
  std::uint64_t only_there = 0;  // missing in the view that the report follows
  // From before one of the views began or after it ended, or beyond what is kept.
  std::uint64_t not_compared = 0;
};

// How far the clock of the other view is ahead.
struct ClockOffset {
  std::int64_t ns = 0;
  std::int64_t error_ns = 0;  // the true offset is within this of `ns`
};

// Estimates an offset from how much later messages are in the other view. Bounds are low quantiles
// of the first messages, not the extremes: a busy endpoint may record a message late.
class OffsetSamples {
 public:
  // The recorders are those of ViewPair.
  void add(int here_recorder, int there_recorder, std::size_t sender, std::int64_t ahead_ns);
  void absorb(const OffsetSamples& other);
  // Nothing: there is no message.
  [[nodiscard]] std::optional<ClockOffset> offset() const;

 private:
  static constexpr std::size_t kMost = 64;  // of each kind

  // From the followed view to the other one, the other way, and unknown.
  std::array<std::vector<std::int64_t>, 3> ahead_;
};
// Times come from files. Nothing: the difference makes no sense.
[[nodiscard]] std::optional<std::int64_t> view_time_difference(std::int64_t to, std::int64_t from);

// Addresses as they are compared: RoCE can carry an IPv4 address in a GID.
[[nodiscard]] capture::Address plain_address(const capture::Address& address);
// Returns the QPN of a side, or 0 if it is not known. Packets of iWARP show TCP ports instead,
// which an endpoint's recording does not have.
[[nodiscard]] std::uint32_t known_qpn(const roce::Connection& connection, std::size_t side);
// The higher, the less a view shows: packets show most, then the client's endpoint.
[[nodiscard]] int rank_of(const roce::Connection& connection);

// Calls that both views answer: from Call to Reply in either view. If the views come from both
// ends, the difference is what the network and the adapters took. No clock offset matters for it.
struct RoundTrips {
  std::uint64_t count = 0;
  std::int64_t here_ns = 0, there_ns = 0;  // sums
};

// Bounds what all comparisons together keep.
struct ViewBudget {
  std::size_t used = 0;
  static constexpr std::size_t kMost = std::size_t{1} << 17;  // messages
};

// The messages of one side in one view that have no counterpart yet, oldest first.
class ViewQueue {
 public:
  static constexpr std::size_t kMost = 16384;

  explicit ViewQueue(ViewBudget& budget) : budget_(&budget) {}
  ViewQueue(const ViewQueue&) = delete;
  ViewQueue& operator=(const ViewQueue&) = delete;
  ~ViewQueue() { budget_->used -= live_; }

  // Returns whether an older message was dropped to make room, or this one was.
  bool add(const ViewedMessage& m, std::size_t most = kMost);
  void copy(const ViewQueue& from);
  // Replaces its messages by those of `from`.
  void take(ViewQueue& from);
  // The place of a message with this XID: the oldest with the same content, or else any.
  [[nodiscard]] std::optional<std::uint64_t> at(const ViewedMessage& like) const;
  [[nodiscard]] bool has(const ViewedMessage& like) const;
  // Removes and returns the message at a place.
  ViewedMessage remove(std::uint64_t place);
  // The oldest message, if its place is before `place`.
  std::optional<ViewedMessage> take_before(std::uint64_t place);
  // The place of the next message.
  [[nodiscard]] std::uint64_t end() const { return first_ + slots_.size(); }
  template <typename Function>
  void for_each(Function&& f) const {
    for (const Slot& slot : slots_) {
      if (!slot.gone) f(slot.message);
    }
  }

 private:
  // A longer run of equal XIDs is a flood.
  static constexpr int kEqualXids = 16;

  struct Slot {
    ViewedMessage message;
    std::uint64_t older = 0;  // the place of the one with the same XID before it, plus 1
    bool gone = false;
  };

  void trim();

  ViewBudget* budget_;
  std::deque<Slot> slots_;
  std::uint64_t first_ = 0;                                  // the place of the first slot
  std::size_t live_ = 0;                                     // slots that are not gone
  std::unordered_map<std::uint32_t, std::uint64_t> latest_;  // place by XID
};

// What the two views are.
struct ViewPair {
  int here_recorder = -1;   // side of the recording endpoint; -1: packets
  int there_recorder = -1;  // the same of the other view
  bool both_begin = false;  // both show the set-up
};

class ViewMatch {
 public:
  ViewMatch(const ViewPair& pair, ViewBudget& budget)
      : pair_(pair),
        budget_(&budget),
        here_{ViewQueue(budget), ViewQueue(budget)},
        there_{ViewQueue(budget), ViewQueue(budget)} {}
  ~ViewMatch();
  ViewMatch(const ViewMatch&) = delete;
  ViewMatch& operator=(const ViewMatch&) = delete;

  // Takes the messages that the followed view has shown so far.
  void begin(std::size_t sender, const ViewQueue& shown) { here_[sender].copy(shown); }
  // A message of the view that the report follows.
  void here(std::size_t sender, const ViewedMessage& m);
  // A message of the other view.
  void there(std::size_t sender, const ViewedMessage& m);
  // `other` compared the same view with another part of the same other view.
  void absorb(ViewMatch& other);
  void swap_sides();
  // Both views have ended. A view is `whole` if it shows the end of the connection.
  void finish(bool here_whole, bool there_whole);

  [[nodiscard]] const std::array<ViewCounts, 2>& counts() const { return counts_; }
  [[nodiscard]] const std::vector<ViewDifference>& differences() const { return differences_; }
  [[nodiscard]] const RoundTrips& round_trips() const { return round_trips_; }
  [[nodiscard]] std::optional<ClockOffset> offset() const { return samples_.offset(); }

 private:
  struct Times {
    std::int64_t here_ns, there_ns;
  };
  // A message this far before one with a counterpart has none any more: two threads of an endpoint
  // can record theirs in another order than they were sent.
  static constexpr std::size_t kBehind = 64;

  void matched(std::size_t sender, const ViewedMessage& here, const ViewedMessage& there);
  void settle(std::size_t sender, bool of_here, std::uint64_t before);
  void drop(std::size_t sender, bool of_here, const ViewedMessage& m, bool compared);
  void note(const ViewDifference& d);
  void note_round_trip(std::size_t sender, std::uint32_t xid, const Times& times);

  ViewPair pair_;
  ViewBudget* budget_;
  std::array<ViewQueue, 2> here_, there_;  // by sender
  std::array<ViewCounts, 2> counts_;
  std::vector<ViewDifference> differences_;
  std::array<std::unordered_map<std::uint32_t, Times>, 2> called_;  // by sender and XID
  RoundTrips round_trips_;
  OffsetSamples samples_;
  // Frames of the latest match, by sender: in the followed view and in the other one.
  std::array<std::uint64_t, 2> last_here_{}, last_there_{};
};

}  // namespace rpcrdma::session
