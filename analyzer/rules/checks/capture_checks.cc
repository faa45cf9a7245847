// Gathers what is missing from a capture by connection, and reports it as findings of CAPTURE.
#include "checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rpcrdma::rules {

namespace {

void add(CaptureGaps::Gap& gap, std::uint64_t amount, std::uint32_t connection) {
  gap.amount += amount;
  const std::uint32_t id = connection + 1;
  ++gap.connections;
  if (gap.connection.size() < CaptureGaps::kNamed) gap.connection.push_back(id);
}

enum CaptureTopic : std::uint32_t {
  kLostPackets = 16,
  kCutShort,
  kOneSided,
  kClockStep,
  kUnlisted,
  kEvents,
  kCoalesced,
  kSilent
};

// Counts lost packets as reports do: packets that were acknowledged early need not be missing.
std::uint64_t packets_lost(const roce::Connection& c) {
  std::uint64_t n = 0;
  for (const roce::Side& side : c.side) {
    n += side.counters.lost_capture + side.counters.reads_unseen;
  }
  return n;
}

}  // namespace

std::string where(const CaptureGaps::Gap& gap) {
  const std::uint64_t more = gap.connections - gap.connection.size();
  return fmt::format("connection{} {}{}", gap.connections == 1 ? "" : "s",
                     fmt::join(gap.connection, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

void note_closed(CaptureGaps& capture_gaps, const roce::Connection& c, std::uint64_t cut_short) {
  if (cut_short != 0) add(capture_gaps.cut_short, cut_short, c.index);
  if (const std::uint64_t n = packets_lost(c)) add(capture_gaps.lost, n, c.index);
  if (c.events_lost != 0) add(capture_gaps.events_lost, 1, c.index);
  if (c.side[0].operations_unseen || c.side[1].operations_unseen) {
    add(capture_gaps.operations_unseen, 1, c.index);
  }
  if ((c.side[0].counters.packets == 0) != (c.side[1].counters.packets == 0) && !c.recorded) {
    add(capture_gaps.one_sided, 1, c.index);
  }
  if (c.clock_stepped_back) add(capture_gaps.clock_steps_back, 1, c.index);
  if (c.setup != roce::Setup::kCm) add(capture_gaps.begun_before, 1, c.index);
}

void note_silent(CaptureGaps::Gap& silent, CaptureGaps::Gap& any, const roce::Connection& c) {
  if (!roce::setup_seen(c) || c.recorded || c.state == roce::State::kRejected) return;
  if (c.side[0].counters.packets != 0 || c.side[1].counters.packets != 0) return;
  add(any, 1, c.index);
  if (c.ended_ns - c.side[1].cm.time_ns >= kSilentSetUpNs) add(silent, 1, c.index);
}

bool only_set_ups(const roce::PacketStats& packets) {
  return packets.cm != 0 && packets.cm + packets.other_service + packets.malformed == packets.roce;
}

std::string coalesced_packets(std::uint64_t n) {
  return n == 1 ? "1 datagram was coalesced by GSO/GRO before capture"
                : fmt::format("{} datagrams were coalesced by GSO/GRO before capture", n);
}

std::string lost_packets(std::uint64_t n) {
  return n == 1
             ? "1 packet that its receiver acknowledged is not in the capture"
             : fmt::format("{} packets that their receiver acknowledged are not in the capture", n);
}

bool icrcs_accepted(const roce::PacketStats& packets) {
  return packets.icrc_accepted > packets.icrc_bad / 2;
}

// Coalesced packets that are no longer than a single packet show only by their invalid ICRC.
const char* icrc_advice(const roce::PacketStats& packets) {
  if (packets.icrc_good == 0) {
    return "Do not look for a bad link: with all ICRCs invalid, either the devices do not compute "
           "them (simulated devices, ICRC turned off), or a tool rewrote addresses (tcprewrite, an "
           "anonymizer), or this capture point sees packets before their ICRC is computed. All was "
           "decoded; damage would not show. --no-icrc skips the check.";
  }
  if (icrcs_accepted(packets)) {
    return "Do not look for a bad link: the receivers answer these packets. Either the devices "
           "neither compute nor check ICRCs (simulated devices, ICRC turned off), or a tool "
           "rewrote "
           "addresses (tcprewrite, an anonymizer). All was decoded; damage would not show. "
           "--no-icrc skips the check.";
  }
  return packets.coalesced != 0
             ? "Capture with segmentation offload off before you check for a bad link: it may have "
               "coalesced short packets, too."
             : "Check for a bad link or a damaged capture file: receivers drop such packets.";
}

std::string bad_crcs(const roce::PacketStats& packets) {
  return fmt::format("{} of {} FPDUs of iWARP have an invalid CRC", packets.crc_bad,
                     packets.crc_bad + packets.crc_good);
}

std::vector<CaptureCaveat> capture_caveats(const CaptureGaps& capture_gaps,
                                           std::uint64_t unlisted) {
  std::vector<CaptureCaveat> list;
  if (capture_gaps.cut_short.amount != 0) {
    list.push_back({kCutShort,
                    fmt::format("{} truncated in the capture, on {}",
                                capture_gaps.cut_short.amount == 1
                                    ? std::string("1 message is")
                                    : fmt::format("{} messages are", capture_gaps.cut_short.amount),
                                where(capture_gaps.cut_short)),
                    "Capture with a larger snapshot length: 512 bytes hold most headers. Rules "
                    "about the missing bytes were not checked."});
  }
  if (capture_gaps.one_sided.amount != 0) {
    list.push_back({kOneSided,
                    fmt::format("the capture contains only one direction of {}",
                                where(capture_gaps.one_sided)),
                    "Capture both directions: a mirror port often sends only one. Credits, Replies "
                    "and losses cannot be judged on these connections."});
  }
  if (capture_gaps.silent.amount != 0) {
    list.push_back(
        {kSilent,
         fmt::format("no data of {} in the capture, only the CM messages",
                     where(capture_gaps.silent)),
         "Capture where the data pass: an RNIC sends RDMA past the packet capture of its host. Use "
         "a mirror port of the switch (SPAN), or the RDMA device itself (rpcrdma capture -i "
         "mlx5_0, "
         "ibdump), or trace Linux from inside (sudo rpcrdma attach kernel). If the capture was "
         "stopped right after the set-up, capture for longer."});
  }
  if (capture_gaps.clock_steps_back.amount != 0) {
    list.push_back({kClockStep,
                    fmt::format("the clock steps back on {}", where(capture_gaps.clock_steps_back)),
                    "Sort the capture by time, or use timestamps of a single clock: latencies and "
                    "orders on these connections are unreliable."});
  }
  if (capture_gaps.events_lost.amount != 0) {
    list.push_back(
        {kEvents,
         fmt::format("events of {} are missing from the recording",
                     where(capture_gaps.events_lost)),
         capture_gaps.events_lost_in_kernel
             ? "Use larger buffers (trace-cmd record -b, rpcrdma kernel --kernel-ring), trace "
               "fewer "
               "events, or filter them in the kernel: it emitted events faster than they were read."
             : "Record on a faster disk, use faster live readers (attach, top, Wireshark), or use "
               "fewer connections at a time: the endpoint emitted events faster than they were "
               "written or read."});
  }
  if (unlisted != 0) {
    list.push_back({kUnlisted,
                    fmt::format("{} connections are in the totals and not listed: at most {} are "
                                "tracked at once",
                                unlisted, roce::kMaxConnections),
                    "Split the capture by time or by address to list every connection. Ended "
                    "connections were evicted first, then those idle for longest."});
  }
  return list;
}

std::string paused_text(const capture::PauseFrames::BySource& pauses) {
  const std::string text = capture::pause_text(pauses);
  return text.empty() ? text : fmt::format("pause frames: {}", text);
}

void report_pauses(const capture::PauseFrames::BySource& pauses, Findings& findings) {
  const std::string text = paused_text(pauses);
  if (!findings.has_sums() || text.empty()) return;
  Evidence e;
  e.at_most = Level::kNote;
  findings.add(
      RuleId::kCongestion, e, [&] { return text; }, kPauseAdvice);
}

void report_capture_gaps(const CaptureGaps& capture_gaps, const roce::PacketStats& packets,
                         Findings& findings) {
  // A report presents the sums itself: it can be the sum of several captures.
  if (!findings.has_sums()) return;
  const auto add = [&](RuleId rule, std::uint32_t topic, const std::string& text,
                       const char* advice) {
    Evidence e;
    e.topic = topic;
    findings.add(
        rule, e, [&] { return text; }, advice);
  };
  if (capture_gaps.lost.amount != 0) {
    add(RuleId::kCapture, kLostPackets,
        fmt::format("{}, on {}", lost_packets(capture_gaps.lost.amount), where(capture_gaps.lost)),
        "Capture with a larger buffer: the packets are missing here, not on the wire. Findings "
        "that depend on them are inconclusive.");
  }
  if (packets.coalesced != 0)
    add(RuleId::kCapture, kCoalesced, coalesced_packets(packets.coalesced), kUnglue);
  for (const CaptureCaveat& d : capture_caveats(capture_gaps, packets.evict)) {
    add(RuleId::kCapture, d.topic, d.text, d.advice);
  }
  if (packets.icrc_bad != 0) {
    add(RuleId::kIcrc, 0,
        fmt::format("{} of {} packets have an invalid ICRC", packets.icrc_bad,
                    packets.icrc_bad + packets.icrc_good),
        icrc_advice(packets));
  }
  if (packets.crc_bad != 0) add(RuleId::kIcrc, kCrcTopic, bad_crcs(packets), kCrcAdvice);
}

}  // namespace rpcrdma::rules
