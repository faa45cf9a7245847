// Says of each packet what a plan of faults wants done with it. It does nothing itself: whoever
// carries packets asks, and acts. See fault_gate.h for both in one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/time.h>
#include <rpcrdma/soft/fault_rules.h>
#include <rpcrdma/soft/packet.h>
#include <rpcrdma/soft/random.h>
#include <rpcrdma/wire/error.h>

namespace rpcrdma::soft {

// What conn=, msg=, attempt= and reorder have to remember. Beyond these limits the connection that
// was silent for longest is forgotten; seen again, it is a new one.
struct FaultLimits {
  std::size_t connections = 4096;
};
// Attempts are counted exactly for so many PSNs up to the newest of a connection and direction; one
// further back counts as the second. Messages are known for so many up to the newest.
inline constexpr std::size_t kFaultTrackedPsns = 1024;
inline constexpr std::size_t kFaultTrackedMessages = 256;

struct FaultVerdict {
  FaultAction action = FaultAction::kPass;
  std::uint8_t bit = 0;      // kCorrupt: 0..7
  std::uint32_t byte = 0;    // kCorrupt: offset in the datagram, within it
  std::uint64_t hold = 0;    // kReorder: until so many later ones of the stream have gone
  fabric::Time until = 0;    // kDelay; kReorder: at the latest
  std::uint64_t stream = 0;  // packets of one connection and direction have the same
  std::size_t rule = 0;      // that wants it; of kPass none
};

struct FaultCounters {
  std::uint64_t matched = 0;  // packets that fit the selectors up to attempt=
  std::uint64_t applied = 0;  // and got the fault
};

class FaultTracker;

class FaultInjector {
 public:
  explicit FaultInjector(FaultPlan plan, const FaultLimits& limits = {});
  FaultInjector(FaultInjector&&) noexcept;
  FaultInjector& operator=(FaultInjector&&) noexcept;
  ~FaultInjector();

  [[nodiscard]] bool active() const { return !rules_.empty(); }

  // `datagram` is BTH through ICRC, and goes along `path` or, for kIn, came along it: `remote` is
  // the peer both times. What is no RoCE packet passes.
  [[nodiscard]] FaultVerdict ask(FaultDirection direction, const Path& path, wire::Bytes datagram,
                                 fabric::Time now) {
    if (rules_.empty()) [[likely]] {
      return {};
    }
    return decide(direction, path, datagram, now);
  }

  // By the rule's place in the plan.
  [[nodiscard]] std::size_t rules() const { return rules_.size(); }
  [[nodiscard]] std::string_view text(std::size_t rule) const { return rules_[rule].rule.text; }
  [[nodiscard]] const FaultCounters& counters(std::size_t rule) const {
    return rules_[rule].counters;
  }
  // Entries kept of connections: at most three for each that FaultLimits allow.
  [[nodiscard]] std::size_t connections() const;

 private:
  struct Rule {
    FaultRule rule;
    Random random;
    FaultCounters counters;
  };
  struct Facts;

  FaultVerdict decide(FaultDirection direction, const Path& path, wire::Bytes datagram,
                      fabric::Time now);
  static bool fits(const FaultRule& rule, const Facts& facts);
  static bool takes(Rule& rule);
  static FaultVerdict verdict(Rule& rule, wire::Bytes datagram, fabric::Time now);

  std::vector<Rule> rules_;
  std::unique_ptr<FaultTracker> tracker_;  // null where no rule needs it
};

}  // namespace rpcrdma::soft
