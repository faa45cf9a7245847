// Calls that come again on a connection which took another one's place. All that is judged rests on
// what is here, which a report can carry: so the same code judges while a capture is read, and when
// reports of two captures are joined.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/capture/address.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::rules {

// Connections that ended are remembered for those that follow: so many of them,
inline constexpr std::size_t kDeparted = 64;
// and of each so many Calls that had no answer, and so many that had one, the latest.
inline constexpr std::size_t kUnanswered = 128;
inline constexpr std::size_t kAnswered = 32;
// Of connections that may follow one of an earlier capture: so many, and so many Calls of each.
inline constexpr std::size_t kBegun = 64;
inline constexpr std::size_t kBegunCalls = 64;
// Further Calls of a connection are not looked at: a requester sends again what was outstanding
// before it does much else.
inline constexpr std::uint64_t kFirstCalls = 256;
// Lost Calls of a pair of addresses, and of all pairs in a Handover.
inline constexpr std::size_t kLostCalls = 64;
inline constexpr std::size_t kLostCallsHandedOver = 1024;

// A Call, as far as it tells whether it is another one again.
struct FirstCall {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::uint64_t message = 0;  // model::Message::id; 0 in one that a report carries
  std::uint32_t xid = 0;
  std::uint32_t program = 0, procedure = 0;
  std::uint64_t digest = 0;  // model::Call::digest
  bool varies = false;       // sent again it has another digest, or its digest may be wrong
  bool known = false;        // its program and procedure
  bool forward = true;       // of the RPC client
  bool left_out = false;     // by a filter
};

// What is remembered of a connection for the one that follows it: bounded.
struct Departed {
  struct Call {
    std::uint32_t xid = 0;
    std::uint32_t program = 0, procedure = 0;
    std::uint64_t digest = 0;  // model::Call::digest; 0: what comes again may differ, or not known
    std::uint32_t reply_psn = 0;
    bool reply_psn_known = false;
    bool acknowledged = false;  // its Reply, by its requester
  };
  std::int64_t end_ns = 0;
  bool broken = false;                      // it did not end by the peers' will
  std::array<capture::Address, 2> address;  // of client and server
  std::vector<Call> unanswered;
  std::vector<Call> answered;  // the latest ones, as a ring; empty where they tell nothing
  std::size_t oldest = 0;      // in the ring

  // After an orderly end the same XID is a requester's that counts from the start again.
  [[nodiscard]] bool answered_matter() const { return broken || !unanswered.empty(); }
};

// A finding, as far as it rests on this.
struct SentAgain {
  RuleId rule = RuleId::kReconnect;
  std::array<std::uint64_t, 2> frames{};
  std::string text;
  const char* advice = nullptr;  // null: the rule's own
};

// What a connection takes over from the one before it between the same client and server.
class Successor {
 public:
  void follow(std::shared_ptr<const Departed> predecessor) {
    predecessor_ = std::move(predecessor);
  }
  [[nodiscard]] bool follows() const { return predecessor_ != nullptr; }
  // The next Call may be one of that connection.
  [[nodiscard]] bool looks() const { return predecessor_ && calls_ < kFirstCalls; }
  [[nodiscard]] bool called_before() const { return calls_ != 0; }
  // The next Call of the client. Gives whether the connection before this one had it already.
  bool called(const FirstCall& call);
  // RECONNECT and ANSWERED-TWICE.
  [[nodiscard]] std::vector<SentAgain> reported() const;
  // Calls without an answer that have not come again.
  [[nodiscard]] bool awaits_more() const;

 private:
  struct Taken {
    std::uint64_t calls = 0;
    std::uint64_t first_frame = 0, last_frame = 0;
    std::uint32_t first_xid = 0;
    std::uint64_t acknowledged = 0;  // of `calls`
    void add(const FirstCall& call);
  };

  std::uint64_t calls_ = 0;
  std::int64_t first_ns_ = 0;
  std::shared_ptr<const Departed> predecessor_;
  Taken again_, answered_twice_;
};

// A Call of either side that was not answered before its connection was lost.
struct LostCall {
  std::int64_t lost_ns = 0;  // when that ended
  capture::Address caller, responder;
  std::uint32_t xid = 0;
  std::uint64_t digest = 0;  // model::Call::digest
  bool reverse = false;
  std::uint64_t frame = 0;
  // A Call with another XID and the same content, on a connection that is still open.
  std::uint64_t again_frame = 0;
  std::uint64_t again_message = 0;
  std::uint32_t again_xid = 0;
  std::uint32_t again_connection = 0;
  bool again_left_out = false;
};

// Of one pair of addresses, the oldest first.
class LostCalls {
 public:
  // A connection of the pair, and one of its sides.
  struct Caller {
    std::uint32_t connection = 0;  // a number of its own
    std::int64_t first_ns = 0;     // of the connection
    const capture::Address& address;
    // Calls of it that may yet be some of the lost ones; nothing: it has not called yet.
    std::optional<std::size_t>& may_be_again;
  };

  [[nodiscard]] bool empty() const { return calls_.empty(); }
  [[nodiscard]] const std::vector<LostCall>& all() const { return calls_; }
  void add(const LostCall& call);
  // A Call, the next one of its caller. Gives the lost one that comes again by its XID, which is
  // lost no more. `known_again`: it is a Call of the connection before, by Successor::called().
  std::optional<LostCall> called(const FirstCall& call, bool known_again, const Caller& caller);
  // When a connection has ended, or its capture: lost ones that came again on it as other Calls.
  // Only now is it certain that their own XIDs do not come any more.
  [[nodiscard]] std::vector<LostCall> take_renamed(std::uint32_t connection);
  // A connection between these two that began at `first_ns` has ended: what was lost before it and
  // has not come again on it does not come on the ones after it.
  void pass_over(const capture::Address& client, const capture::Address& server,
                 std::int64_t first_ns);

 private:
  [[nodiscard]] bool may_be_again(const FirstCall& call, const Caller& caller) const;
  std::vector<LostCall> calls_;
};
// FC-08; a warning at most, since it may be another Call with the same content.
[[nodiscard]] SentAgain renamed(const LostCall& call);
inline constexpr Level kRenamedAtMost = Level::kWarning;
inline constexpr std::uint32_t kRenamedTopic = 1;  // of the finding

// A connection whose first Call was seen, and none before it between the same client and server: it
// may follow one of an earlier capture.
struct Begun {
  std::uint32_t connection = 0;             // index
  std::array<capture::Address, 2> address;  // of client and server
  std::int64_t first_ns = 0;                // of the connection
  std::size_t departed_before = 0;          // of the capture's, before its first Call
  bool more = false;                        // Calls than are kept
  const char* unsure = nullptr;             // why FC-08 cannot be told of it; null: it can
  std::vector<FirstCall> calls;
};

// What a capture leaves to the next one, and takes over from the one before it.
struct Handover {
  std::vector<std::shared_ptr<const Departed>> departed;  // the oldest first
  std::vector<LostCall> lost;                             // of a pair, the oldest first
  std::vector<Begun> begun;                               // in the order of their first Calls
  bool complete = true;                                   // there were no more of them
};

}  // namespace rpcrdma::rules
