#include "fault_tracker.h"

#include <algorithm>
#include <utility>

#include <rpcrdma/soft/fault_injector.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

constexpr std::size_t kLeastBytes = wire::kBthBytes + wire::kIcrcBytes;

bool needs_tracker(const FaultRule& rule) {
  return rule.connection || rule.message || rule.attempt || rule.action == FaultAction::kReorder;
}

template <typename T>
bool within(const std::optional<FaultRange>& range, T n) {
  return !range || range->contains(n);
}

bool is_one_of(const FaultOps& ops, wire::Bytes datagram, std::uint32_t queue_pair) {
  const std::uint8_t opcode = datagram[0];
  if (ops.opcodes.test(opcode)) return true;
  if (opcode == static_cast<std::uint8_t>(wire::Opcode::kAck)) {
    const wire::Aeth aeth{datagram[wire::kBthBytes]};
    return (ops.ack && aeth.is_ack()) || (ops.nak && aeth.is_nak()) || (ops.rnr && aeth.is_rnr());
  }
  if (queue_pair != wire::kGsiQp || !wire::opcode_info(opcode).deth) return false;
  if (ops.cm) return true;
  constexpr std::size_t kAttribute = wire::kBthBytes + 8 + 16;  // DETH; in the MAD
  if (ops.cm_attributes.none() || datagram.size() < kLeastBytes + 8 + wire::kMadBytes) return false;
  const std::uint16_t attribute = wire::load_be16(datagram.data() + kAttribute);
  return datagram[wire::kBthBytes + 8 + 1] == wire::kMadClassCm &&
         attribute < ops.cm_attributes.size() && ops.cm_attributes.test(attribute);
}

}  // namespace

struct FaultInjector::Facts {
  FaultDirection direction = FaultDirection::kOut;
  wire::Bytes datagram;
  std::uint32_t queue_pair = 0;
  std::uint32_t psn = 0;
  FaultPlace place;
};

FaultInjector::FaultInjector(FaultPlan plan, const FaultLimits& limits) {
  rules_.reserve(plan.rules.size());
  for (FaultRule& rule : plan.rules) {
    if (needs_tracker(rule) && !tracker_) tracker_ = std::make_unique<FaultTracker>(limits);
    const Random random(rule.seed);
    rules_.push_back({std::move(rule), random, {}});
  }
}
FaultInjector::FaultInjector(FaultInjector&&) noexcept = default;
FaultInjector& FaultInjector::operator=(FaultInjector&&) noexcept = default;
FaultInjector::~FaultInjector() = default;

std::size_t FaultInjector::connections() const {
  return tracker_ ? tracker_->connections() : 0;
}

FaultVerdict FaultInjector::decide(FaultDirection direction, const Path& path, wire::Bytes datagram,
                                   fabric::Time now) {
  if (datagram.size() < kLeastBytes) return {};
  Facts facts{direction,
              datagram,
              wire::load_be24(datagram.data() + 5),
              wire::load_be24(datagram.data() + 9),
              {}};
  if (tracker_) facts.place = tracker_->see(direction, path.remote, datagram);
  FaultVerdict decided;
  for (Rule& rule : rules_) {
    if (!fits(rule.rule, facts) || !takes(rule)) continue;
    const FaultVerdict wanted = verdict(rule, datagram, now);
    if (decided.action != FaultAction::kPass) continue;
    decided = wanted;
    decided.rule = static_cast<std::size_t>(&rule - rules_.data());
    ++rule.counters.applied;
  }
  decided.stream = facts.place.stream;
  return decided;
}

bool FaultInjector::fits(const FaultRule& rule, const Facts& facts) {
  return (!rule.direction || *rule.direction == facts.direction) &&
         within(rule.queue_pair, facts.queue_pair) && within(rule.psn, facts.psn) &&
         (!rule.ops || is_one_of(*rule.ops, facts.datagram, facts.queue_pair)) &&
         within(rule.connection, facts.place.connection) &&
         within(rule.message, facts.place.message) && within(rule.attempt, facts.place.attempt) &&
         (!rule.byte || *rule.byte < facts.datagram.size());
}

// Counts and draws even if another rule applies to the packet, so that rules do not influence each
// other.
bool FaultInjector::takes(Rule& rule) {
  ++rule.counters.matched;
  if (!within(rule.rule.nth, rule.counters.matched)) return false;
  if (rule.rule.rate && !rule.random.chance(*rule.rule.rate)) return false;
  return !rule.rule.count || rule.counters.applied < *rule.rule.count;
}

FaultVerdict FaultInjector::verdict(Rule& rule, wire::Bytes datagram, fabric::Time now) {
  const FaultRule& wanted = rule.rule;
  FaultVerdict verdict;
  verdict.action = wanted.action;
  if (wanted.action == FaultAction::kDelay) {
    const auto spread = static_cast<std::uint64_t>(wanted.jitter) + 1;
    const std::uint64_t jitter = wanted.jitter == 0 ? 0 : rule.random.below(spread);
    verdict.until = now + wanted.delay + static_cast<fabric::Time>(jitter);
  } else if (wanted.action == FaultAction::kReorder) {
    verdict.hold = wanted.hold;
    verdict.until = now + kMaxHold;
  } else if (wanted.action == FaultAction::kCorrupt) {
    if (wanted.byte) {
      verdict.byte = static_cast<std::uint32_t>(*wanted.byte);
    } else {
      const auto drawn = static_cast<std::uint32_t>(rule.random.below(datagram.size() - 1));
      verdict.byte = drawn < wire::kVariantBthByte ? drawn : drawn + 1;
    }
    verdict.bit = static_cast<std::uint8_t>(wanted.bit ? *wanted.bit : rule.random.below(8));
  }
  return verdict;
}

}  // namespace rpcrdma::soft
