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

// "connections 1, 4 and 2 more"
std::string where(const Trust::Gap& gap) {
  const std::uint64_t more = gap.connections - gap.connection.size();
  return fmt::format("connection{} {}{}", gap.connections == 1 ? "" : "s",
                     fmt::join(gap.connection, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

void note_closed(Trust& trust, const roce::Connection& c, std::uint64_t cut_short) {
  if (cut_short != 0) add(trust.cut_short, cut_short, c.index);
  if (const std::uint64_t n = model::losses(c)) add(trust.lost, n, c.index);
  if ((c.side[0].counters.packets == 0) != (c.side[1].counters.packets == 0)) {
    add(trust.one_sided, 1, c.index);
  }
  if (c.clock_stepped_back) add(trust.clock_steps_back, 1, c.index);
  if (c.setup != roce::Setup::kCm) add(trust.begun_before, 1, c.index);
}

void tell_trust(const Trust& trust, const roce::PacketStats& packets, Findings& findings) {
  enum Topic : std::uint32_t { kLost = 16, kCutShort, kOneSided, kClock, kLetGo };
  const auto add = [&](RuleId rule, std::uint32_t topic, const Findings::Text& text,
                       const char* advice) {
    Evidence e;
    e.topic = topic;
    findings.add(rule, e, text, advice);
  };
  if (trust.lost.amount != 0 && findings.tells_sums()) {
    add(
        RuleId::kCapture, kLost,
        [&] {
          return fmt::format(
              "{} packets that their receiver acknowledged are not in the capture, "
              "of {}",
              trust.lost.amount, where(trust.lost));
        },
        "Calls and data that they carried are missing here, not on the wire; what rests on them is "
        "withheld. Capture with a larger buffer.");
  }
  if (trust.cut_short.amount != 0) {
    add(
        RuleId::kCapture, kCutShort,
        [&] {
          return fmt::format("{} messages are cut short, of {}", trust.cut_short.amount,
                             where(trust.cut_short));
        },
        "Rules about the bytes that are missing were not checked. Capture with a larger snap "
        "length: 512 bytes hold most headers.");
  }
  if (trust.one_sided.amount != 0) {
    add(
        RuleId::kCapture, kOneSided,
        [&] {
          return fmt::format("packets of one direction only are in the capture for {}",
                             where(trust.one_sided));
        },
        "Credits, Replies and losses cannot be judged there. Capture both directions: a mirror "
        "port often sends one only.");
  }
  if (trust.clock_steps_back.amount != 0) {
    add(
        RuleId::kCapture, kClock,
        [&] { return fmt::format("the clock steps back on {}", where(trust.clock_steps_back)); },
        "Latencies and orders are not to be trusted there. Sort the capture by time, or take the "
        "times of one clock.");
  }
  if (packets.let_go != 0) {
    add(
        RuleId::kCapture, kLetGo,
        [&] {
          return fmt::format(
              "{} connections are summed up and not listed: more than {} are not followed at once",
              packets.let_go, roce::kMaxConnections);
        },
        "Those that were over went first, then those idle longest. Cut the capture up, by time or "
        "by address, to see each.");
  }
  if (packets.icrc_bad != 0 && findings.tells_sums()) {
    add(
        RuleId::kIcrc, 0,
        [&] {
          return fmt::format("{} of {} packets have a wrong ICRC", packets.icrc_bad,
                             packets.icrc_bad + packets.icrc_good);
        },
        packets.icrc_good == 0
            ? "All are wrong: the capture point sees packets before their ICRC is made, or "
              "rewrites them."
            : "Receivers drop such packets: look for a bad link, or damage to the capture file.");
  }
}

}  // namespace rpcrdma::rules
