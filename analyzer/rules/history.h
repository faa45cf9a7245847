// What the checks remember of a connection, and of the connections before it: as little as tells
// the rules apart, bounded, and forgotten when the connection closes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sent_again.h>

namespace rpcrdma::rules {

// The credits of one direction; see credit_checks.cc.
struct Ledger {
  std::uint64_t answered = 0;       // Calls that were answered
  std::uint64_t allowed = 1;        // greatest of: a grant + answers up to it
  std::uint64_t allowed_error = 0;  // the same, with the credit words of RDMA_ERRORs
  std::uint32_t grant = 1;          // the latest
  std::uint64_t grant_frame = 0;    // 0: no Reply yet
};

// A SEND, for the RNR NAK that may come for it.
struct SentMessage {
  std::uint32_t first_psn = 0;
  std::uint32_t psn = 0;
  std::uint64_t message = 0;  // model::Message::id; 0: nothing, or its PSNs are not known
  std::uint64_t frame = 0;
  model::Kind kind = model::Kind::kCall;
  bool reverse = false;
  bool within_credit = false;  // a Call or RDMA_DONE for which its receiver had granted a credit
};

// Why a receiver needed no Receive for a SEND: what a finding says of it, and of its sender.
struct Excuse {
  const char* what = nullptr;
  const char* advice = nullptr;
};

// RNR NAKs for SENDs of a side that its peer needed no Receive for.
struct ExcusedRnr {
  std::uint64_t count = 0;
  std::uint32_t first_psn = 0, last_psn = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
  const Excuse* excuse = nullptr;
  bool certain = true;  // every message before them was read
};

// A SEND that its receiver refused with an RNR NAK, before all of it was seen.
struct RefusedSend {
  std::uint32_t psn = 0;
  std::uint64_t frame = 0;  // of the latest RNR NAK; 0: none
  std::uint64_t count = 0;  // of them, one after the other
};

// An RDMA READ or WRITE, for the NAK that may refuse it.
struct SentOperation {
  std::uint32_t psn = 0, last_psn = 0;
  bool offered = false;  // an outstanding Call offers just this
  bool certain = false;  // all chunk lists before it were read
};

// Why an operation of a side was refused, with a NAK that ends the connection.
enum class Refused : std::uint8_t {
  kNone,  // none was
  kNotKnown,
  kOffered,     // no access to memory that an outstanding Call offers, for what it is offered
  kNotOffered,  // no access to anything else
  kPeerFailed,  // the peer could not do what it was asked, as it says itself
};

[[nodiscard]] inline bool by_fault_of_peer(Refused r) {
  return r == Refused::kOffered || r == Refused::kPeerFailed;
}
[[nodiscard]] inline bool may_be_by_fault_of_peer(Refused r) {
  return by_fault_of_peer(r) || r == Refused::kNotKnown;
}

// How long a Call of a side had not been answered when its connection ended.
enum class Wait : std::uint8_t {
  kShort,
  kLong,    // it may not have arrived, or its responder may have had no way to go on
  kInVain,  // long, and nothing but its responder is known to have stood in the way
};

struct SideHistory {
  // A ring of those that may be under way: as many as there were Calls outstanding, within bounds.
  static constexpr std::size_t kFewestSent = 16, kMostSent = 256;
  std::vector<SentMessage> sent;
  std::size_t sent_next = 0;
  RefusedSend refused;
  std::uint64_t judged_message = 0;  // its refusal was judged
  ExcusedRnr excused;
  // A ring, of at most kMostOperations.
  static constexpr std::size_t kMostOperations = 128;
  std::vector<SentOperation> operations;
  std::size_t operations_next = 0;
  Refused refused_operation = Refused::kNone;  // the first one
};

// A message for which its receiver may end the connection.
struct Cause {
  std::uint64_t message = 0;  // model::Message::id; 0: there was none
  Violation violation;        // of a rule, by this message; or of none that is told
};

// Memory that a Call offered and that its RPC's end took back.
struct EndedSegment {
  wire::Segment target;
  model::ChunkList list = model::ChunkList::kRead;
  std::uint8_t owner = 0;    // side that offered it
  bool by_error = false;     // the RPC ended by RDMA_ERROR
  bool invalidated = false;  // by the Send With Invalidate that ended it
  std::uint32_t xid = 0;
  std::uint64_t end_frame = 0;    // of the answer
  std::uint64_t end_message = 0;  // its model::Message::id
};

struct RangeOffered {
  std::uint32_t low = 0, high = 0;  // by an ERR_VERS
  std::uint64_t frame = 0;          // of it; 0: none
};

// Those of some kind that came last, by model::Message::id. On most connections there is none.
class LatestMessages {
 public:
  void note(std::uint64_t message) {
    if (ring_.size() < kKept) {
      ring_.push_back(message);
    } else {
      ring_[next_++ % kKept] = message;
    }
  }
  [[nodiscard]] bool has(std::uint64_t message) const {
    return std::find(ring_.begin(), ring_.end(), message) != ring_.end();
  }

 private:
  static constexpr std::size_t kKept = 256;  // more than are usually outstanding
  std::vector<std::uint64_t> ring_;
  std::size_t next_ = 0;
};

struct Past;

struct ConnectionHistory {
  static constexpr std::size_t kEnded = 256;

  // Calls that their responder may refuse, and that for it may end the connection.
  LatestMessages faulty;
  // Calls with a Read chunk that includes roundup.
  LatestMessages with_roundup;
  // Calls by their rdma_direction, with another msg_type: a receiver may make nothing of them.
  LatestMessages misdirected;

  bool begun = false;                            // its first message was seen
  std::array<std::uint64_t, 2> first_message{};  // of each side, model::Message::id; 0: none yet
  std::array<Ledger, 2> ledger;                  // by the side that calls
  std::array<SideHistory, 2> side;
  std::array<RangeOffered, 2> versions;  // to the caller on this side
  std::array<bool, 2> spoke_v2{};        // a version 2 message other than an error came from it
  std::uint32_t forward_versions = 0;    // of forward Calls, a bit each
  // The latest that each side gave the other. Where the other's adapter refused something, of the
  // greatest model::Message::id.
  std::array<Cause, 2> latest_cause;
  std::array<std::uint64_t, 2> latest_answered{};  // model::Message::id of a Call, by caller
  // The latest RDMA READ of the side that ended was not answered.
  std::array<bool, 2> read_unanswered{};
  std::array<Wait, 2> waited{};  // by caller, when the connection has ended
  // Calls of a side that may yet be some of the lost ones: see reconnect_checks.cc. Nothing: it has
  // not called yet.
  std::array<std::optional<std::size_t>, 2> may_be_again{};
  bool ready_for_reverse = false;         // the client has told so, or may have
  std::uint64_t ready_frame = 0;          // of the Call that told so, while its Reply is to come
  bool configured = false;                // by the Connection Configuration Protocol
  std::uint64_t latest_forward_call = 0;  // model::Message::id
  std::vector<EndedSegment> ended;        // a ring of at most kEnded
  std::size_t ended_next = 0;
  std::array<std::vector<std::uint32_t>, 2> reads;  // PSNs of RDMA READs in flight, by initiator
  // Why what rests on all SENDs having been seen, on all messages having been read, and on all
  // chunk lists, cannot be told; null: it can.
  const char* sends_unsure = nullptr;
  const char* messages_unsure = nullptr;
  std::array<const char*, 2> unread{};  // messages of this side could not be read
  const char* lists_unsure = nullptr;
  // What History::past() found, and when: asked for every Call.
  Past* past = nullptr;
  std::uint64_t past_found_at = 0;

  // This side gave the other cause to end the connection, and no later Call was answered.
  [[nodiscard]] bool gave_cause(std::size_t by) const {
    const std::uint64_t cause = latest_cause[by].message;
    return cause != 0 && cause >= std::max(latest_answered[0], latest_answered[1]);
  }
  // Of messages, in their order or not.
  void note_cause(std::size_t by, std::uint64_t message) {
    if (message > latest_cause[by].message) latest_cause[by] = {message, {}};
  }
};

// What is left of the last connection between two addresses.
struct Past {
  std::array<std::uint32_t, 2> limit{};  // of a Send by each of them, bytes; 0: not known
  std::array<std::uint32_t, 2> grant{};  // to each of them as a requester; 0: none
  std::int64_t end_ns = INT64_MIN;       // of that connection
  LostCalls lost;

  // Its limits and grants are those that `next` may have been mistaken for.
  [[nodiscard]] bool precedes(const roce::Connection& next) const {
    return end_ns <= next.first_ns;
  }
};

class History {
 public:
  [[nodiscard]] ConnectionHistory& of(std::uint32_t connection) { return open_[connection]; }
  // Null when nothing was remembered of it.
  [[nodiscard]] ConnectionHistory* find(std::uint32_t connection) { return open_.find(connection); }
  void forget(std::uint32_t connection) {
    if (const ConnectionHistory* h = find(connection)) ended_segments_ -= h->ended.size();
    open_.erase(connection);
  }
  // One more in ConnectionHistory::ended, of all connections.
  [[nodiscard]] bool may_remember_segment() {
    if (ended_segments_ >= kMaxEndedSegments) return false;
    ++ended_segments_;
    return true;
  }

  // The addresses in their own order, so that a connection opened the other way round is found.
  using Pair = std::pair<capture::Address, capture::Address>;
  [[nodiscard]] static Pair pair_of(const roce::Connection& c) {
    return std::minmax(c.side[0].address, c.side[1].address);
  }
  // Which of the pair a side of the connection is.
  [[nodiscard]] static std::size_t place(const roce::Connection& c, std::size_t side) {
    return c.side[side].address == pair_of(c).first ? 0 : 1;
  }
  // `h` is the history of `c`. Some of it may be of connections that ended after `c` had begun, and
  // are none that it follows: see Past.
  [[nodiscard]] Past* past(const roce::Connection& c, ConnectionHistory& h) {
    if (h.past_found_at != past_changes_) {
      const auto it = past_.find(pair_of(c));
      h.past = it == past_.end() ? nullptr : &it->second;
      h.past_found_at = past_changes_;
    }
    return h.past;
  }
  [[nodiscard]] Past& make_past(const roce::Connection& c) {
    const Pair pair = pair_of(c);
    const auto it = past_.find(pair);
    if (it != past_.end()) return it->second;
    ++past_changes_;
    if (past_.size() >= kMaxPairs) past_.erase(past_.begin());
    return past_[pair];
  }
  // f(past) for each pair of addresses.
  template <typename Function>
  void for_each_past(Function&& f) const {
    for (const auto& [pair, past] : past_) f(past);
  }

 private:
  static constexpr std::size_t kMaxPairs = 256;
  static constexpr std::size_t kMaxEndedSegments = std::size_t{1} << 18;
  roce::ByConnection<ConnectionHistory> open_;
  std::map<Pair, Past> past_;
  std::uint64_t past_changes_ = 1;  // of what is in past_
  std::size_t ended_segments_ = 0;
};

}  // namespace rpcrdma::rules
