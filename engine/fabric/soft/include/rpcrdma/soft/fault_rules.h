// Declared faults: which fault happens to which packets. docs/faults.md is the user's description.
//
//   plan   = rule { (";" | newline) rule }      "#" starts a comment that ends with the line
//   rule   = [ ACTION { KEY "=" VALUE } ]
//
//   drop                              the packet is lost
//   duplicate                         it passes twice in a row
//   reorder [by=N]                    it waits until N (1) later packets of its connection and
//                                     direction have passed, at most kMaxHold
//   delay by=TIME [jitter=TIME]       it waits for this time plus 0..jitter
//   corrupt [byte=N] [bit=N]          a bit is flipped: byte 0 is the BTH's first, bit 0 the
//                                     lowest; by default a random bit that the ICRC covers
//
//   dir=out|in       packets sent here, or packets that arrive here
//   conn=RANGE       connections in the order of their REQs, from 1. If no REQ passes, each
//                    direction counts the destination QPs in the order of their first packets
//   qp=RANGE         the BTH's destination QP
//   op=NAME|NAME...  send, write, read-request, read-response, atomic, ack, nak, rnr, request,
//                    response, cm, cm-req, cm-rep, cm-rtu, cm-rej, cm-mra, cm-dreq, cm-drep; the
//                    name of a BTH opcode ("send-only-with-invalidate"), or its number
//   psn=RANGE        24 bits; a range may wrap around
//   msg=RANGE        the n-th message of its connection and direction: requests count from 1, and
//                    READ responses separately; ACKs and CM messages belong to none
//   attempt=RANGE    1 is the first transmission; "any". Packets count as the same if they have the
//                    same connection, direction and PSN, and are both requests or both responses;
//                    CM messages if they have the same connection, direction and attribute
//   nth=RANGE        the n-th packet, from 1, that matches all selectors above
//   rate=P [seed=N]  a random share of the remaining packets, 0 < P <= 1
//   count=N          at most this many packets
//
//   RANGE = N | N-M | N-     numbers are decimal or, after 0x, hexadecimal
//   TIME  = number with a unit: ns, us, ms, s
//
// Each rule counts and draws random numbers independently of the others. If several rules match a
// packet, the first applies.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::soft {

enum class FaultAction : std::uint8_t { kPass, kDrop, kDuplicate, kReorder, kDelay, kCorrupt };
[[nodiscard]] const char* fault_action_name(FaultAction action);  // "drop", ...

enum class FaultDirection : std::uint8_t { kOut, kIn };

// Both ends are included; with `first` above `last` the range wraps around.
struct FaultRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  [[nodiscard]] bool contains(std::uint64_t n) const {
    return first <= last ? n >= first && n <= last : n >= first || n <= last;
  }
  friend bool operator==(const FaultRange&, const FaultRange&) = default;
};

// The packets that an op= selects: those that match any of these.
struct FaultOps {
  std::bitset<256> opcodes;  // of the BTH
  bool ack = false;          // opcode ACK by the kind of its AETH
  bool nak = false;
  bool rnr = false;
  bool cm = false;                  // everything to QP 1
  std::bitset<32> cm_attributes{};  // only MADs with these, all below 0x20

  friend bool operator==(const FaultOps&, const FaultOps&) = default;
};

// An unset selector matches every packet.
struct FaultRule {
  FaultAction action = FaultAction::kDrop;
  std::optional<FaultDirection> direction;
  std::optional<FaultRange> connection;
  std::optional<FaultRange> queue_pair;
  std::optional<FaultOps> ops;
  std::optional<FaultRange> psn;
  std::optional<FaultRange> message;
  std::optional<FaultRange> attempt;
  std::optional<FaultRange> nth;
  std::optional<double> rate;
  std::optional<std::uint64_t> count;
  std::uint64_t seed = 0;  // default: the rule's number in its plan, from 1

  std::uint64_t hold = 1;             // kReorder: packets
  fabric::Time delay = 0;             // kDelay
  fabric::Time jitter = 0;            // kDelay: 0..jitter is added
  std::optional<std::uint64_t> byte;  // kCorrupt; a shorter datagram does not match the rule
  std::optional<std::uint64_t> bit;   // kCorrupt: 0..7

  std::string text;  // as written, without comment

  friend bool operator==(const FaultRule&, const FaultRule&) = default;
};

struct FaultPlan {
  std::vector<FaultRule> rules;
};

inline constexpr std::size_t kMaxFaultRules = 256;
inline constexpr fabric::Time kMaxFaultDelay = 3600 * fabric::kSecond;
// A held packet continues after this time even if no later packets pass.
inline constexpr fabric::Time kMaxHold = fabric::kSecond;

struct FaultSyntaxError {
  std::uint32_t line = 1;    // from 1
  std::uint32_t column = 1;  // from 1, in bytes: the position of the error
  std::string message;       // one clause, without a full stop; printable ASCII
};
// "line 2, column 6: there is no opcode \"sned\"".
[[nodiscard]] std::string describe(const FaultSyntaxError& error);

[[nodiscard]] tl::expected<FaultPlan, FaultSyntaxError> parse_faults(std::string_view text);

}  // namespace rpcrdma::soft
