// The rules of RPC-over-RDMA, in one table: rules.def. A check refers to a rule by its RuleId and
// never repeats its text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <rpcrdma/roce/absent.h>

namespace rpcrdma::rules {

enum class RuleId : std::uint16_t {
#define RPCRDMA_RULE(id, name, where, level5666, level8166, needs, section, sentence, advice) id,
#include <rpcrdma/rules/rules.def>
#undef RPCRDMA_RULE
};

// The specification that a capture is checked against: some rules contradict each other.
enum class Profile : std::uint8_t { k5666, k8166 };

// The part of the traffic that shows whether a rule is kept.
enum class Where : std::uint8_t {
  kHeader,               // one message
  kPair,                 // a Call and its Reply
  kConnection,           // earlier messages of the connection
  kPackets,              // RDMA Reads and Writes
  kSetup,                // the CM exchange
  kEndpoint,             // not in a capture: only the endpoint itself knows
  kDiagnosis,            // not a rule of a specification: what went wrong, and why
  kImplementationQuirk,  // deliberate behaviour of a known implementation
  kCaptureItself,        // the capture, not the peers
};

enum class Level : std::uint8_t { kOff, kNote, kWarning, kError };

// Data without which a finding would be a guess. If the capture does not have it, the violation is
// counted as inconclusive.
//
// From kBytes on: what a source must show at all. A rule is not judged on a connection whose source
// does not show it, and its violations there are neither reported nor counted.
inline constexpr unsigned kSourceShift = 6;  // of the bits of roce::Absent
enum Needs : std::uint32_t {
  kNothing = 0,
  kLossFree = 1,        // no packet of the connection, of either side, was lost by the capture
  kLossFreeCall = 2,    // none while the Call was in flight
  kBothDirections = 4,  // packets of both sides are in the capture
  kSetupSeen = 8,       // the connection's set-up is in the capture
  kSteadyClock = 16,    // the capture's clock did not step back
  kOperations = 32,  // RDMA operations of the side at fault, which a peer's recording may not have
  kBytes = roce::kAbsentBytes << kSourceShift,  // messages as they were sent
  kRequests = roce::kAbsentRequests << kSourceShift,
  kGrants = roce::kAbsentGrants << kSourceShift,
  kLengths = roce::kAbsentLengths << kSourceShift,
  kChunkLists = roce::kAbsentChunks << kSourceShift,
  kInvalidations = roce::kAbsentInvalidation << kSourceShift,
  kPrivateData = roce::kAbsentSetup << kSourceShift,
  kExactOperations = roce::kAbsentOperations << kSourceShift,
  kRefusals = roce::kAbsentRefusals << kSourceShift,
  kPacketLevel = roce::kAbsentPackets << kSourceShift,
};

struct Rule {
  RuleId id;
  const char* name;  // "FC-01"
  Where where;
  Level level5666;
  Level level8166;
  std::uint32_t needs;   // Needs
  const char* section;   // sources in the specifications; empty: none
  const char* sentence;  // correct behaviour: one sentence without a full stop
  const char* advice;    // what to do about a violation

  [[nodiscard]] Level level(Profile profile) const {
    return profile == Profile::k5666 ? level5666 : level8166;
  }
};

// Whether a rule can be judged although a source does not show `absent` (roce::Absent).
[[nodiscard]] constexpr bool is_judged(const Rule& r, std::uint16_t absent) {
  return (r.needs >> kSourceShift & absent) == 0;
}
// Whether traffic of this origin can show a violation of the rule. A connection or a message may
// lack more than its origin does.
[[nodiscard]] bool is_judged_from(const Rule& r, roce::Origin origin);
// Returns the number of rules that are on in this profile, can be judged from packets, and are not
// judged where `absent` is.
[[nodiscard]] std::size_t rules_not_judged(std::uint16_t absent, Profile profile);

// In the table's order: rules()[n] is the rule whose RuleId is n.
[[nodiscard]] std::span<const Rule> rules();
[[nodiscard]] const Rule& rule(RuleId id);
// Finds a rule by its name, case-insensitively; null if there is none.
[[nodiscard]] const Rule* find_rule(std::string_view name);
[[nodiscard]] const char* where_name(Where where);  // "header", "pair", ...
[[nodiscard]] const char* level_name(Level level);  // "off", "note", "warning", "error"

}  // namespace rpcrdma::rules
