// Capture quality: what is missing from a capture, and which connections are affected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/capture/pause.h>
#include <rpcrdma/roce/connections.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::rules {

struct CaptureGaps {
  struct Gap {
    std::uint64_t amount = 0;               // packets, messages or connections
    std::uint64_t connections = 0;          // affected
    std::vector<std::uint32_t> connection;  // the first of their IDs in the report
  };
  static constexpr std::size_t kNamed = 8;

  Gap lost;              // packets that were acknowledged and are not in the capture
  Gap cut_short;         // messages that are truncated in the capture
  Gap one_sided;         // connections with packets of one direction only
  Gap clock_steps_back;  // connections on which a packet is older than its predecessor
  Gap begun_before;      // connections with a mid-stream start: no set-up in the capture
  // Connections that were set up and of which nothing else is in the capture, for long or, if the
  // capture holds nothing but such set-ups, for any time.
  Gap silent;
  // Recordings only: connections with missing events, and connections without events for the
  // peer's RDMA operations, which most RNICs do not report.
  Gap events_lost;
  Gap operations_unseen;
  bool events_lost_in_kernel = false;  // some of events_lost are connections of a kernel source

  // Returns whether nothing is missing except traffic before the capture and operations that an
  // endpoint cannot see.
  [[nodiscard]] bool complete() const {
    return lost.amount == 0 && cut_short.amount == 0 && one_sided.amount == 0 &&
           silent.amount == 0 && clock_steps_back.amount == 0 && events_lost.amount == 0;
  }
};

// A connection that sends nothing for this long after its set-up is not just about to begin: a
// client sets one up because it has a Call to send.
inline constexpr std::int64_t kSilentSetUpNs = 10'000'000'000;
// The RoCE packets of the capture are CM messages.
[[nodiscard]] bool only_set_ups(const roce::PacketStats& packets);

// "connections 1, 4 and 2 more"
[[nodiscard]] std::string where(const CaptureGaps::Gap& gap);

// "1 datagram was coalesced by GSO/GRO before capture"
[[nodiscard]] std::string coalesced_packets(std::uint64_t n);
// "1 packet that its receiver acknowledged is not in the capture"
[[nodiscard]] std::string lost_packets(std::uint64_t n);
inline constexpr const char* kUnglue =
    "Turn segmentation offload off (ethtool -K DEVICE tx-udp-segmentation off) or capture on the "
    "wire: offload coalesced the packets before they were captured. The endpoints of this program "
    "send single packets with --exact.";

// Most invalid ICRCs are no sign of damage: the receivers accept the packets.
[[nodiscard]] bool icrcs_accepted(const roce::PacketStats& packets);
// Returns the advice for invalid ICRCs: a constant.
[[nodiscard]] const char* icrc_advice(const roce::PacketStats& packets);

// "pause frames: 12 of class 3 by 02:00:00:00:00:01 (longest 65535 quanta)"; empty: nothing paused.
[[nodiscard]] std::string paused_text(const capture::PauseFrames::BySource& pauses);
inline constexpr const char* kPauseAdvice =
    "Check the receiver behind the sender of the pause frames first: it is out of buffers and "
    "stops "
    "its neighbour, and with it other traffic of the class. Then compare the PFC settings of hosts "
    "and switches.";

// "2 of 45 FPDUs of iWARP have an invalid CRC"
[[nodiscard]] std::string bad_crcs(const roce::PacketStats& packets);
inline constexpr const char* kCrcAdvice =
    "Check for a bad link or a damaged capture file: a receiver ends the connection for such an "
    "FPDU.";
inline constexpr std::uint32_t kCrcTopic = 1;  // of rule ICRC

// A caveat about the capture as a whole.
struct CaptureCaveat {
  std::uint32_t topic = 0;  // distinguishes the findings of rule CAPTURE
  std::string text;         // one clause, without a full stop
  const char* advice = nullptr;
};
// Returns the caveats that a sum over all packets does not show. `unlisted`: connections that are
// in the totals and not listed.
[[nodiscard]] std::vector<CaptureCaveat> capture_caveats(const CaptureGaps& capture_gaps,
                                                         std::uint64_t unlisted);

}  // namespace rpcrdma::rules
