#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/capture/pause.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::capture {
namespace {

using wire::load_be16;

// Unread::detail holds the classes that pause and resume and the longest pause; Unread::flow holds
// the sender's MAC address and whether there are classes.
constexpr std::uint64_t kByClass = 1ULL << 48;
constexpr std::uint64_t kMac = kByClass - 1;

std::string mac_text(std::uint64_t mac) {
  std::string text;
  for (int shift = 40; shift >= 0; shift -= 8) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":", mac >> shift & 0xff);
  }
  return text;
}

}  // namespace

Unread pause_of(const Frame& frame, std::span<const std::uint8_t> control) {
  constexpr std::uint16_t kPauseAll = 0x0001, kPauseClasses = 0x0101;
  if (control.size() < 4) return {};
  const std::uint16_t opcode = load_be16(control.data());
  Pause p;
  if (opcode == kPauseAll) {
    p.longest = load_be16(control.data() + 2);
    (p.longest != 0 ? p.paused : p.resumed) = 1;
  } else if (opcode == kPauseClasses) {
    constexpr std::size_t kTimes = 4;
    p.by_class = true;
    for (std::size_t i = 0; i < 8 && kTimes + 2 * i + 2 <= control.size(); ++i) {
      if ((control[3] >> i & 1) == 0) continue;
      const std::uint16_t quanta = load_be16(control.data() + kTimes + 2 * i);
      (quanta != 0 ? p.paused : p.resumed) |= static_cast<std::uint8_t>(1U << i);
      p.longest = std::max(p.longest, quanta);
    }
  } else {
    return {};
  }
  if (frame.link == LinkType::kEthernet && frame.data.size() >= 12) {
    for (std::size_t i = 6; i < 12; ++i) p.source = p.source << 8 | frame.data[i];
  }
  return {UnreadKind::kPause,
          std::uint32_t{p.paused} | std::uint32_t{p.resumed} << 8 | std::uint32_t{p.longest} << 16,
          p.source | (p.by_class ? kByClass : 0)};
}

Pause pause_in(const Unread& unread) {
  Pause p;
  p.source = unread.flow & kMac;
  p.by_class = (unread.flow & kByClass) != 0;
  p.paused = static_cast<std::uint8_t>(unread.detail);
  p.resumed = static_cast<std::uint8_t>(unread.detail >> 8);
  p.longest = static_cast<std::uint16_t>(unread.detail >> 16);
  return p;
}

void PauseCounts::add(const PauseCounts& other) {
  for (std::size_t i = 0; i < paused.size(); ++i) {
    paused[i] += other.paused[i];
    resumed[i] += other.resumed[i];
  }
  whole_paused += other.whole_paused;
  whole_resumed += other.whole_resumed;
  longest = std::max(longest, other.longest);
  if (first_frame == 0) first_frame = other.first_frame;
  last_frame = std::max(last_frame, other.last_frame);
}

void PauseFrames::note(const Pause& pause, std::uint64_t frame) {
  auto it = counts_.find(pause.source);
  if (it == counts_.end()) {
    it = counts_.try_emplace(counts_.size() < kMostSources ? pause.source : kOthers).first;
  }
  PauseCounts& c = it->second;
  if (c.first_frame == 0) c.first_frame = frame;
  c.last_frame = frame;
  c.longest = std::max<std::uint32_t>(c.longest, pause.longest);
  if (!pause.by_class) {
    c.whole_paused += pause.paused;
    c.whole_resumed += pause.resumed;
    return;
  }
  for (std::size_t i = 0; i < c.paused.size(); ++i) {
    c.paused[i] += pause.paused >> i & 1U;
    c.resumed[i] += pause.resumed >> i & 1U;
  }
}

PauseFrames::BySource PauseFrames::by_source() const {
  BySource sources;
  for (const auto& [mac, counts] : counts_) {
    sources[mac == kOthers ? "others" : mac_text(mac)] = counts;
  }
  return sources;
}

std::string pause_text(const PauseFrames::BySource& sources) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  std::size_t n = 0;
  for (const auto& [source, c] : sources) {
    if (++n > kNamed) continue;
    std::string classes;
    for (std::size_t i = 0; i < c.paused.size(); ++i) {
      if (c.paused[i] == 0) continue;
      classes += fmt::format("{}{} of class {}", classes.empty() ? "" : ", ", c.paused[i], i);
    }
    if (c.whole_paused != 0) {
      classes += fmt::format("{}{} of the whole link", classes.empty() ? "" : ", ", c.whole_paused);
    }
    if (classes.empty()) continue;
    text += fmt::format("{}{} by {} (longest {} quanta)", text.empty() ? "" : "; ", classes, source,
                        c.longest);
  }
  if (n > kNamed) text += fmt::format("; and by {} more", n - kNamed);
  return text;
}

}  // namespace rpcrdma::capture
