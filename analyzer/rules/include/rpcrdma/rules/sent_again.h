// Detects Calls that are resent on a connection that replaced an earlier one. The decisions depend
// only on the state in this file, which a report can carry: the same code runs while a capture is
// read and when reports of two captures are joined.
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

// The number of ended connections that are kept for their successors.
inline constexpr std::size_t kDeparted = 64;
// For each of them, the number of unanswered Calls and of the latest answered Calls.
inline constexpr std::size_t kUnanswered = 128;
inline constexpr std::size_t kAnswered = 32;
// The number of connections that may follow one of an earlier capture, and of Calls of each.
inline constexpr std::size_t kBegun = 64;
inline constexpr std::size_t kBegunCalls = 64;
// Later Calls of a connection are not examined: a requester resends its in-flight Calls before it
// does much else.
inline constexpr std::uint64_t kFirstCalls = 256;
// The number of lost Calls of a pair of addresses, and of all pairs in a Handover.
inline constexpr std::size_t kLostCalls = 64;
inline constexpr std::size_t kLostCallsHandedOver = 1024;

// The properties of a Call that show whether it is a resent one.
struct FirstCall {
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::uint64_t message = 0;  // model::Message::id; 0 if it comes from a report
  std::uint32_t xid = 0;
  std::uint32_t program = 0, procedure = 0;
  std::uint64_t digest = 0;  // model::Call::digest
  bool varies = false;       // its digest changes when it is resent, or may be wrong
  bool known = false;        // program and procedure are known
  bool forward = true;       // a Call of the RPC client
  bool left_out = false;     // excluded by a filter
};

// State of an ended connection, kept for its successor: bounded.
struct Departed {
  struct Call {
    std::uint32_t xid = 0;
    std::uint32_t program = 0, procedure = 0;
    std::uint64_t digest = 0;  // model::Call::digest; 0: not known, or changes when it is resent
    std::uint32_t reply_psn = 0;
    bool reply_psn_known = false;
    bool acknowledged = false;  // the requester acknowledged the Reply
  };
  std::int64_t end_ns = 0;
  bool broken = false;                      // the peers did not end it on purpose
  std::array<capture::Address, 2> address;  // of client and server
  std::vector<Call> unanswered;
  std::vector<Call> answered;  // the latest ones, as a ring; empty if they do not matter
  std::size_t oldest = 0;      // index in the ring

  // After an orderly end, a requester may count XIDs from the start again.
  [[nodiscard]] bool answered_matter() const { return broken || !unanswered.empty(); }
};

// A finding about resent Calls.
struct SentAgain {
  RuleId rule = RuleId::kReconnect;
  std::array<std::uint64_t, 2> frames{};
  std::string text;
  const char* advice = nullptr;  // null: the rule's own
};

// Compares the Calls of a connection with those of its predecessor between the same client and
// server.
class Successor {
 public:
  void follow(std::shared_ptr<const Departed> predecessor) {
    predecessor_ = std::move(predecessor);
  }
  [[nodiscard]] bool follows() const { return predecessor_ != nullptr; }
  // Returns whether the next Call may be one of the predecessor's.
  [[nodiscard]] bool looks() const { return predecessor_ && calls_ < kFirstCalls; }
  [[nodiscard]] bool called_before() const { return calls_ != 0; }
  // Notes the next Call of the client. Returns whether the predecessor had it already.
  bool called(const FirstCall& call);
  // Returns findings of RECONNECT and ANSWERED-TWICE.
  [[nodiscard]] std::vector<SentAgain> reported() const;
  // Returns whether some unanswered Calls of the predecessor have not been resent yet.
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

// A Call of either side that was unanswered when its connection was lost.
struct LostCall {
  std::int64_t lost_ns = 0;  // when the connection ended
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

// The lost Calls of one pair of addresses, oldest first.
class LostCalls {
 public:
  // A side of a connection of the pair.
  struct Caller {
    std::uint32_t connection = 0;  // a unique number
    std::int64_t first_ns = 0;     // of the connection
    const capture::Address& address;
    // How many more of its Calls may be lost Calls that it resends; empty before its first Call.
    std::optional<std::size_t>& may_be_again;
  };

  [[nodiscard]] bool empty() const { return calls_.empty(); }
  [[nodiscard]] const std::vector<LostCall>& all() const { return calls_; }
  void add(const LostCall& call);
  // Notes the next Call of its caller. Returns the lost Call with its XID, if there is one, and
  // removes it. `known_again`: Successor::called() found it to be a Call of the predecessor.
  std::optional<LostCall> called(const FirstCall& call, bool known_again, const Caller& caller);
  // Called when a connection or its capture has ended. Removes and returns the lost Calls that were
  // resent on it with other XIDs: only now is it certain that their own XIDs do not follow.
  [[nodiscard]] std::vector<LostCall> take_renamed(std::uint32_t connection);
  // Called when a connection between these two that began at `first_ns` has ended. Drops Calls that
  // were lost before it and not resent on it: later connections do not resend them either.
  void pass_over(const capture::Address& client, const capture::Address& server,
                 std::int64_t first_ns);

 private:
  [[nodiscard]] bool may_be_again(const FirstCall& call, const Caller& caller) const;
  std::vector<LostCall> calls_;
};
// Returns a finding of FC-08; a warning at most, since it may be another Call with the same
// content.
[[nodiscard]] SentAgain renamed(const LostCall& call);
inline constexpr Level kRenamedAtMost = Level::kWarning;
inline constexpr std::uint32_t kRenamedTopic = 1;  // of the finding

// A connection whose first Call is in the capture, without an earlier connection between the same
// client and server: it may follow one of an earlier capture.
struct Begun {
  std::uint32_t connection = 0;             // index
  std::array<capture::Address, 2> address;  // of client and server
  std::int64_t first_ns = 0;                // of the connection
  std::size_t departed_before = 0;          // connections that ended before its first Call
  bool more = false;                        // it had more Calls than are kept
  const char* unsure = nullptr;             // why FC-08 is inconclusive for it; null: it is not
  std::vector<FirstCall> calls;
};

// State that is passed from the report of one capture to that of the next.
struct Handover {
  std::vector<std::shared_ptr<const Departed>> departed;  // oldest first
  std::vector<LostCall> lost;                             // oldest first within a pair
  std::vector<Begun> begun;                               // in the order of their first Calls
  bool complete = true;                                   // no limit was exceeded
};

}  // namespace rpcrdma::rules
