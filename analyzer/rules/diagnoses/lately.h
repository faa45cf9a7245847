// Finds faults of a connection while it lasts, by the traffic of the last kWindowNs. Each fault is
// reported when it begins and when it ends.
#pragma once

#include "credit_starvation.h"
#include "latency_attribution.h"
#include "loss.h"
#include "sums.h"
#include "window.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <rpcrdma/rules/findings.h>

namespace rpcrdma::rules {

class Lately {
 public:
  // The faults that are judged. Where each side can have one, the first is that of side 0.
  enum class Fault : std::uint8_t {
    kStorm,  // by sender, as is RNR
    kStorm1,
    kRnr,
    kRnr1,
    kExcusedRnr,
    kExcusedRnr1,
    kStarved,  // by caller
    kStarved1,
    kSlowStalls,  // see LatencyAttribution::Slow
    kSlowWay,
    kSlowPeer,
  };
  static constexpr std::size_t kFaults = 11;
  [[nodiscard]] static constexpr Fault of_side(Fault first, std::size_t side) {
    return static_cast<Fault>(static_cast<std::size_t>(first) + side);
  }

  // The state of the connection.
  struct Knowledge {
    Findings& findings;
    const roce::Connection& connection;
    int client = -1;  // -1: not known, so latency is not attributed
    const std::array<Recovery, 2>& recovery;
    const std::array<CreditStarvation, 2>& credit_starvation;
    const LatencyAttribution& latency;
    std::array<const SideHistory*, 2> history;
  };
  [[nodiscard]] static Sums sums(const Knowledge& knowledge, std::int64_t now_ns);

  // Called when time has passed.
  void judge(const Knowledge& knowledge, std::int64_t now_ns);
  // To be called at the connection's end. `lasts`: only the capture has ended.
  [[nodiscard]] Reported reported(Fault fault, bool lasts) const;
  // Ends a fault for which there is no report over the connection's whole life.
  void end(const Knowledge& knowledge, Fault fault, std::int64_t now_ns, bool lasts);

 private:
  struct Episode {
    Fault fault = Fault::kStorm;
    Window<Sums>::Mark begin;
    std::int64_t latest_ns = 0;  // when its sum grew last
    std::int64_t good_ns = -1;   // since when it is below the threshold; -1: it is not
    int side = -1;               // at fault
  };
  [[nodiscard]] static bool is_notable(const Sums& sums);
  [[nodiscard]] static int guilty(const Knowledge& knowledge, Fault fault);
  [[nodiscard]] static std::uint64_t amount(Fault fault, const Sums& sums);
  [[nodiscard]] static bool is_bad(const Knowledge& knowledge, Fault fault, const Sums& lately,
                                   std::int64_t ns);
  void report(const Knowledge& knowledge, const Episode& episode, const Sums& now,
              std::int64_t now_ns, ReportPhase phase, std::int64_t until_ns);
  void judge(const Knowledge& knowledge, Fault fault, const Sums& now, std::int64_t now_ns);
  [[nodiscard]] std::vector<Episode>::iterator find(Fault fault);

  // There may be very many connections without anything notable. They have no marks, only the time
  // when they last had a second without packets, and their number of packets.
  std::int64_t quiet_until_ns_ = -1;
  std::uint64_t activity_ = 0;
  Window<Sums> window_;
  std::vector<Episode> episodes_;                 // not ended yet
  std::array<bool, kFaults> ever_{};              // reported at least once
  std::array<std::int64_t, kFaults> ended_ns_{};  // end of the latest episode
};

}  // namespace rpcrdma::rules
