#include "capture_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rpcrdma::rules {

namespace {

void add(Trust::Gap& gap, std::uint64_t amount, std::uint32_t connection) {
  gap.amount += amount;
  const std::uint32_t id = connection + 1;
  ++gap.connections;
  if (gap.connection.size() < Trust::kNamed) gap.connection.push_back(id);
}

enum CaptureTopic : std::uint32_t {
  kLostPackets = 16,
  kCutShort,
  kOneSided,
  kClockStep,
  kUnlisted,
  kEvents,
  kCoalesced
};

// By the same count as a report's: what was acknowledged early need not be missing.
std::uint64_t packets_lost(const roce::Connection& c) {
  std::uint64_t n = 0;
  for (const roce::Side& side : c.side) {
    n += side.counters.lost_capture + side.counters.reads_unseen;
  }
  return n;
}

}  // namespace

std::string where(const Trust::Gap& gap) {
  const std::uint64_t more = gap.connections - gap.connection.size();
  return fmt::format("connection{} {}{}", gap.connections == 1 ? "" : "s",
                     fmt::join(gap.connection, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

void note_closed(Trust& trust, const roce::Connection& c, std::uint64_t cut_short) {
  if (cut_short != 0) add(trust.cut_short, cut_short, c.index);
  if (const std::uint64_t n = packets_lost(c)) add(trust.lost, n, c.index);
  if (c.events_lost != 0) add(trust.events_lost, 1, c.index);
  if (c.side[0].operations_unseen || c.side[1].operations_unseen) {
    add(trust.operations_unseen, 1, c.index);
  }
  if ((c.side[0].counters.packets == 0) != (c.side[1].counters.packets == 0) && !c.recorded) {
    add(trust.one_sided, 1, c.index);
  }
  if (c.clock_stepped_back) add(trust.clock_steps_back, 1, c.index);
  if (c.setup != roce::Setup::kCm) add(trust.begun_before, 1, c.index);
}

std::string coalesced_packets(std::uint64_t n) {
  return n == 1 ? "1 datagram is longer than any packet"
                : fmt::format("{} datagrams are longer than any packet", n);
}

std::string lost_packets(std::uint64_t n) {
  return n == 1
             ? "1 packet that its receiver acknowledged is not in the capture"
             : fmt::format("{} packets that their receiver acknowledged are not in the capture", n);
}

// Of packets that were put together and are no longer than one may be, nothing tells but the ICRC.
const char* icrc_advice(const roce::PacketStats& packets) {
  if (packets.icrc_good == 0) {
    return "All are wrong: the capture point sees packets before their ICRC is made, or rewrites "
           "them.";
  }
  return packets.coalesced != 0
             ? "Short packets may have been put together by segmentation offload too: capture with "
               "it off before you look for a bad link."
             : "Receivers drop such packets: look for a bad link, or damage to the capture file.";
}

std::vector<CaptureCaveat> capture_caveats(const Trust& trust, std::uint64_t unlisted) {
  std::vector<CaptureCaveat> list;
  if (trust.cut_short.amount != 0) {
    list.push_back({kCutShort,
                    fmt::format("{} cut short, of {}",
                                trust.cut_short.amount == 1
                                    ? std::string("1 message is")
                                    : fmt::format("{} messages are", trust.cut_short.amount),
                                where(trust.cut_short)),
                    "Rules about the bytes that are missing were not checked. Capture with a "
                    "larger snap length: 512 bytes hold most headers."});
  }
  if (trust.one_sided.amount != 0) {
    list.push_back({kOneSided,
                    fmt::format("packets of one direction only are in the capture for {}",
                                where(trust.one_sided)),
                    "Credits, Replies and losses cannot be judged there. Capture both directions: "
                    "a mirror port often sends one only."});
  }
  if (trust.clock_steps_back.amount != 0) {
    list.push_back({kClockStep,
                    fmt::format("the clock steps back on {}", where(trust.clock_steps_back)),
                    "Latencies and orders are not to be trusted there. Sort the capture by time, "
                    "or take the times of one clock."});
  }
  if (trust.events_lost.amount != 0) {
    list.push_back(
        {kEvents,
         fmt::format("events of {} are missing in the recording", where(trust.events_lost)),
         "The endpoint told faster than they were written, or read: record on a faster disk, let "
         "what reads along (attach, top, Wireshark) keep up, or have fewer connections at a "
         "time."});
  }
  if (unlisted != 0) {
    list.push_back({kUnlisted,
                    fmt::format("{} connections are summed up and not listed: more than {} are not "
                                "followed at once",
                                unlisted, roce::kMaxConnections),
                    "Those that were over went first, then those idle longest. Cut the capture up, "
                    "by time or by address, to see each."});
  }
  return list;
}

void report_capture_quality(const Trust& trust, const roce::PacketStats& packets,
                            Findings& findings) {
  // A report tells of the whole itself: it can be the sum of several captures.
  if (!findings.has_sums()) return;
  const auto add = [&](RuleId rule, std::uint32_t topic, const std::string& text,
                       const char* advice) {
    Evidence e;
    e.topic = topic;
    findings.add(
        rule, e, [&] { return text; }, advice);
  };
  if (trust.lost.amount != 0) {
    add(RuleId::kCapture, kLostPackets,
        fmt::format("{}, of {}", lost_packets(trust.lost.amount), where(trust.lost)),
        "Calls and data that they carried are missing here, not on the wire; what rests on them is "
        "withheld. Capture with a larger buffer.");
  }
  if (packets.coalesced != 0)
    add(RuleId::kCapture, kCoalesced, coalesced_packets(packets.coalesced), kUnglue);
  for (const CaptureCaveat& d : capture_caveats(trust, packets.evict)) {
    add(RuleId::kCapture, d.topic, d.text, d.advice);
  }
  if (packets.icrc_bad != 0) {
    add(RuleId::kIcrc, 0,
        fmt::format("{} of {} packets have a wrong ICRC", packets.icrc_bad,
                    packets.icrc_bad + packets.icrc_good),
        icrc_advice(packets));
  }
}

}  // namespace rpcrdma::rules
