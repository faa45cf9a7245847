// Decides which fault of a plan applies to each packet. It only decides; the caller acts on the
// verdict. fault_gate.h combines both.
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

// Limits of the state behind conn=, msg=, attempt= and reorder. Beyond them, the connection that
// was idle longest is dropped; if it reappears, it is a new one.
struct FaultLimits {
  std::size_t connections = 4096;
};
// Attempts are counted exactly for this many PSNs up to the newest of a connection and direction;
// an older PSN counts as the second attempt. Messages are identified for this many up to the
// newest.
inline constexpr std::size_t kFaultTrackedPsns = 1024;
inline constexpr std::size_t kFaultTrackedMessages = 256;

struct FaultVerdict {
  FaultAction action = FaultAction::kPass;
  std::uint8_t bit = 0;      // kCorrupt: 0..7
  std::uint32_t byte = 0;    // kCorrupt: offset in the datagram, within it
  std::uint64_t hold = 0;    // kReorder: released after this many later packets of the stream
  fabric::Time until = 0;    // kDelay; kReorder: at the latest
  std::uint64_t stream = 0;  // the same for all packets of one connection and direction
  std::size_t rule = 0;      // the rule that applies; unused for kPass
};

struct FaultCounters {
  std::uint64_t matched = 0;  // packets that match the selectors up to attempt=
  std::uint64_t applied = 0;  // packets that got the fault
};

class FaultTracker;

class FaultInjector {
 public:
  explicit FaultInjector(FaultPlan plan, const FaultLimits& limits = {});
  FaultInjector(FaultInjector&&) noexcept;
  FaultInjector& operator=(FaultInjector&&) noexcept;
  ~FaultInjector();

  [[nodiscard]] bool active() const { return !rules_.empty(); }

  // `datagram` is BTH through ICRC. `path` is its path; `path.remote` is the peer in both
  // directions. Anything but RoCE packets passes.
  [[nodiscard]] FaultVerdict ask(FaultDirection direction, const Path& path, wire::Bytes datagram,
                                 fabric::Time now) {
    if (rules_.empty()) [[likely]] {
      return {};
    }
    return decide(direction, path, datagram, now);
  }

  // By the rule's index in the plan.
  [[nodiscard]] std::size_t rules() const { return rules_.size(); }
  [[nodiscard]] std::string_view text(std::size_t rule) const { return rules_[rule].rule.text; }
  [[nodiscard]] const FaultCounters& counters(std::size_t rule) const {
    return rules_[rule].counters;
  }
  // Number of connection entries: at most three for each connection that FaultLimits allows.
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
  std::unique_ptr<FaultTracker> tracker_;  // null if no rule needs it
};

}  // namespace rpcrdma::soft
