// State that the checks keep for a connection and its predecessors: only as much as the rules need,
// bounded, and freed when the connection closes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
  std::uint64_t allowed = 1;        // maximum of: a grant + answers up to it
  std::uint64_t allowed_error = 0;  // the same, with the credit values of RDMA_ERRORs
  std::uint32_t grant = 1;          // the latest
  // By how much grants shrank with Replies that have Read chunks: the responder holds these credits
  // for the RDMA_DONEs (RFC 5666 section 11).
  std::uint32_t held_for_done = 0;
  std::uint64_t grant_frame = 0;  // 0: no Reply yet
};

// A Send, kept for an RNR NAK that may refuse it.
struct SentMessage {
  std::uint32_t first_psn = 0;
  std::uint32_t psn = 0;
  std::uint64_t message = 0;  // model::Message::id; 0: an empty entry, or its PSNs are not known
  std::uint64_t frame = 0;
  model::Kind kind = model::Kind::kCall;
  bool reverse = false;
  bool within_credit = false;  // a Call or RDMA_DONE for which the receiver had granted a credit
};

// The reason why no Receive was due for a Send: text and advice of the finding about its sender.
struct Excuse {
  const char* what = nullptr;
  const char* advice = nullptr;
};

// RNR NAKs for Sends of a side for which its peer needed no Receive.
struct ExcusedRnr {
  std::uint64_t count = 0;
  std::uint32_t first_psn = 0, last_psn = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
  const Excuse* excuse = nullptr;
  bool certain = true;  // all earlier messages were parsed
};

// A Send that its receiver refused with an RNR NAK before the capture showed all of it.
struct RefusedSend {
  std::uint32_t psn = 0;
  std::uint64_t frame = 0;  // of the latest RNR NAK; 0: none
  std::uint64_t count = 0;  // consecutive RNR NAKs
};

// An RDMA Read or Write, kept for a NAK that may refuse it.
struct SentOperation {
  std::uint32_t psn = 0, last_psn = 0;
  bool offered = false;  // an in-flight Call advertises exactly this memory
  bool certain = false;  // all earlier chunk lists were parsed
};

// The reason why an operation of a side was refused by a NAK that ends the connection.
enum class Refused : std::uint8_t {
  kNone,  // no operation was refused
  kNotKnown,
  kOffered,     // remote access error, although an in-flight Call advertises the memory for it
  kNotOffered,  // remote access error on any other memory
  kPeerFailed,  // remote operational error: the peer failed by itself
};

[[nodiscard]] inline bool by_fault_of_peer(Refused r) {
  return r == Refused::kOffered || r == Refused::kPeerFailed;
}
[[nodiscard]] inline bool may_be_by_fault_of_peer(Refused r) {
  return by_fault_of_peer(r) || r == Refused::kNotKnown;
}

// How long a Call of a side had been unanswered when its connection ended.
enum class Wait : std::uint8_t {
  kShort,
  kLong,    // the Call may not have arrived, or the responder may have been unable to continue
  kInVain,  // long, and no other cause than the responder is known
};

struct SideHistory {
  // A ring of Sends that may be in flight: as many as there were Calls in flight, within bounds.
  static constexpr std::size_t kFewestSent = 16, kMostSent = 256;
  std::vector<SentMessage> sent;
  RefusedSend refused;
  std::uint64_t judged_message = 0;  // the latest message whose refusal was judged
  ExcusedRnr excused;
  // A ring, of at most kMostOperations.
  static constexpr std::size_t kMostOperations = 128;
  std::vector<SentOperation> operations;
  std::uint32_t sent_next = 0, operations_next = 0;  // in the rings
  Refused refused_operation = Refused::kNone;        // the first one
};

// A message for which the receiver may end the connection.
struct Cause {
  std::uint64_t message = 0;  // model::Message::id; 0: none
  Violation violation;        // by this message; empty: no violation is reported for it
};

// Memory that a Call advertised and that became invalid when its RPC ended.
struct EndedSegment {
  wire::Segment target;
  model::ChunkList list = model::ChunkList::kRead;
  std::uint8_t owner = 0;    // the side that advertised it
  bool by_error = false;     // the RPC ended by RDMA_ERROR
  bool invalidated = false;  // by the Send With Invalidate that ended it
  std::uint32_t xid = 0;
  std::uint64_t end_frame = 0;    // of the answer
  std::uint64_t end_message = 0;  // its model::Message::id
};

struct RangeOffered {
  std::uint32_t low = 0, high = 0;  // from an ERR_VERS
  std::uint64_t frame = 0;          // of the ERR_VERS; 0: none
};

// The latest messages of some kind, by model::Message::id. Most connections have none.
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
  static constexpr std::size_t kKept = 256;  // more than are usually in flight
  std::vector<std::uint64_t> ring_;
  std::size_t next_ = 0;
};

// RDMA Reads of a side that its peer's maxrdmaread allows in flight (RFC 5666 section 6.2).
struct AgreedReads {
  std::uint32_t most = 0;
  std::uint64_t frame = 0;  // of the Reply that completes the exchange; 0: none
};

// Replies of a side to version 2 Calls that name a handle to invalidate.
struct NamedHandles {
  std::uint64_t replies = 0;
  std::uint64_t invalidated = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
};

// A procedure of a program that is not known here. If its Calls get no answer while later Calls do,
// it may be one-way by agreement of the program.
struct UnnamedProcedure {
  static constexpr std::size_t kMost = 16;  // of each side
  std::uint32_t program = 0, version = 0, procedure = 0;
  std::uint32_t calls = 0, answers = 0;
  std::uint64_t first_call = 0;  // model::Message::id

  [[nodiscard]] bool is(const model::RpcInfo& rpc) const {
    return rpc.known && rpc.program == program && rpc.version == version &&
           rpc.procedure == procedure;
  }
};

// What few connections have.
struct RareHistory {
  std::array<AgreedReads, 2> agreed_reads;               // by the side that reads
  std::array<NamedHandles, 2> named_handles;             // by the responder
  std::array<std::vector<UnnamedProcedure>, 2> unnamed;  // by caller
};

struct Past;

struct ConnectionHistory {
  static constexpr std::size_t kEnded = 256;

  // Calls that the responder may refuse, or for which it may end the connection.
  LatestMessages faulty;
  // Calls that have a Read chunk with roundup.
  LatestMessages with_roundup;
  // Messages whose rdma_direction contradicts their msg_type: a receiver may not understand them.
  LatestMessages misdirected;

  bool begun = false;              // the first message was seen
  bool ready_for_reverse = false;  // the client accepts reverse Calls, or may
  bool configured = false;         // by the Connection Configuration Protocol
  std::array<bool, 2> spoke_v2{};  // the side sent a version 2 message other than an error
  // The latest ended RDMA Read of the side got no response.
  std::array<bool, 2> read_unanswered{};
  std::array<Wait, 2> waited{};                  // by caller, when the connection has ended
  std::uint32_t forward_versions = 0;            // versions of forward Calls, one bit each
  std::uint32_t ended_next = 0;                  // in `ended`
  std::array<std::uint32_t, 2> messages_seen{};  // Calls and Replies of each side
  std::array<std::uint64_t, 2> first_message{};  // of each side, model::Message::id; 0: none yet
  std::array<Ledger, 2> ledger;                  // by the side that calls
  std::array<SideHistory, 2> side;
  std::array<RangeOffered, 2> versions;  // to the caller on this side
  // The latest cause that each side gave the other. If the other side's adapter refused an
  // operation, its `message` is the greatest possible ID.
  std::array<Cause, 2> latest_cause;
  std::array<std::uint64_t, 2> latest_answered{};  // model::Message::id of a Call, by caller
  // How many more Calls of a side may be lost Calls that it resends: see reconnect_checks.cc. Empty
  // before its first Call.
  std::array<std::optional<std::size_t>, 2> may_be_again{};
  std::uint64_t ready_frame = 0;          // of the Call that announced it, until its Reply arrives
  std::unique_ptr<RareHistory> rare;      // null: nothing is noted
  std::uint64_t latest_forward_call = 0;  // model::Message::id
  std::vector<EndedSegment> ended;        // a ring of at most kEnded
  std::array<std::vector<std::uint32_t>, 2> reads;  // PSNs of RDMA Reads in flight, by initiator
  // Reasons why rules that depend on all Sends, on all messages, or on all chunk lists of the
  // connection are inconclusive; null: they are conclusive.
  const char* sends_unsure = nullptr;
  const char* messages_unsure = nullptr;
  std::array<const char*, 2> unread{};  // a message of this side could not be parsed
  const char* lists_unsure = nullptr;
  // Cached result of History::past(), which is called for every Call, and its version.
  Past* past = nullptr;
  std::uint64_t past_found_at = 0;

  // Returns whether this side gave the other cause to end the connection, and no later Call was
  // answered.
  [[nodiscard]] bool gave_cause(std::size_t by) const {
    const std::uint64_t cause = latest_cause[by].message;
    return cause != 0 && cause >= std::max(latest_answered[0], latest_answered[1]);
  }
  // Returns the number of Calls of a side that may be one-way: their procedure got no answer, but a
  // later Call did.
  [[nodiscard]] std::uint32_t may_be_one_way(std::size_t caller) const {
    std::uint32_t sum = 0;
    if (rare == nullptr) return 0;
    for (const UnnamedProcedure& p : rare->unnamed[caller]) {
      if (p.answers == 0 && p.first_call < latest_answered[caller]) sum += p.calls;
    }
    return sum;
  }
  [[nodiscard]] bool may_be_one_way(const model::Message& call) const {
    if (rare == nullptr || call.id > latest_answered[call.caller]) return false;
    const std::vector<UnnamedProcedure>& all = rare->unnamed[call.caller];
    return std::any_of(all.begin(), all.end(),
                       [&](const UnnamedProcedure& p) { return p.answers == 0 && p.is(call.rpc); });
  }
  RareHistory& note_rare() {
    if (rare == nullptr) rare = std::make_unique<RareHistory>();
    return *rare;
  }
  // Messages may be noted in any order.
  void note_cause(std::size_t by, std::uint64_t message) {
    if (message > latest_cause[by].message) latest_cause[by] = {message, {}};
  }
};

// State kept from the last connection between two addresses.
struct Past {
  std::array<std::uint32_t, 2> limit{};  // for a Send by each address, bytes; 0: not known
  std::array<std::uint32_t, 2> grant{};  // to each address as a requester; 0: none
  std::int64_t end_ns = INT64_MIN;       // of that connection
  LostCalls lost;

  // Returns whether `next` may have carried over its limits and grants.
  [[nodiscard]] bool precedes(const roce::Connection& next) const {
    return end_ns <= next.first_ns;
  }
};

class History {
 public:
  [[nodiscard]] ConnectionHistory& of(std::uint32_t connection) { return open_[connection]; }
  // Returns null if there is no state for the connection.
  [[nodiscard]] ConnectionHistory* find(std::uint32_t connection) { return open_.find(connection); }
  void forget(std::uint32_t connection) {
    if (const ConnectionHistory* h = find(connection)) ended_segments_ -= h->ended.size();
    open_.erase(connection);
  }
  // Reserves one more entry in ConnectionHistory::ended, within a limit for all connections.
  [[nodiscard]] bool may_remember_segment() {
    if (ended_segments_ >= kMaxEndedSegments) return false;
    ++ended_segments_;
    return true;
  }

  // Sorts the addresses, so that a connection in the opposite direction has the same key.
  using Pair = std::pair<capture::Address, capture::Address>;
  [[nodiscard]] static Pair pair_of(const roce::Connection& c) {
    return std::minmax(c.side[0].address, c.side[1].address);
  }
  // Returns the index of a side of the connection in the pair.
  [[nodiscard]] static std::size_t place(const roce::Connection& c, std::size_t side) {
    return c.side[side].address == pair_of(c).first ? 0 : 1;
  }
  // Returns null if no earlier connection is known. `h` is the history of `c`. Some of the state
  // may come from connections that ended after `c` began: see Past::precedes().
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
  // Calls f(past) for each pair of addresses.
  template <typename Function>
  void for_each_past(Function&& f) const {
    for (const auto& [pair, past] : past_) f(past);
  }

 private:
  static constexpr std::size_t kMaxPairs = 256;
  static constexpr std::size_t kMaxEndedSegments = std::size_t{1} << 18;
  roce::ByConnection<ConnectionHistory> open_;
  std::map<Pair, Past> past_;
  std::uint64_t past_changes_ = 1;  // changes with each new entry of past_
  std::size_t ended_segments_ = 0;
};

}  // namespace rpcrdma::rules
