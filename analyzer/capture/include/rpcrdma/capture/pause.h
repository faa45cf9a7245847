// Pause frames of Ethernet (IEEE 802.3 annex 31B, 802.1Q clause 36): a receiver without buffers
// stops its neighbour, either as a whole or one priority class (PFC), on which RoCE often runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/unread.h>

namespace rpcrdma::capture {

// One pause frame, as Unread carries it.
struct Pause {
  std::uint64_t source = 0;   // MAC address; 0: the frame has none
  bool by_class = false;      // PFC
  std::uint8_t paused = 0;    // a bit for each class that stops; without classes: 1
  std::uint8_t resumed = 0;   // a bit for each class that may send again (quanta of 0)
  std::uint16_t longest = 0;  // quanta of 512 bit times: the longest pause
};
// `control`: what follows ethertype 0x8808 in `frame`. Kind kNothing: no pause frame.
[[nodiscard]] Unread pause_of(const Frame& frame, std::span<const std::uint8_t> control);
// Of a kPause.
[[nodiscard]] Pause pause_in(const Unread& unread);

// The pause frames of one sender.
struct PauseCounts {
  std::array<std::uint64_t, 8> paused{}, resumed{};   // by class
  std::uint64_t whole_paused = 0, whole_resumed = 0;  // without classes
  std::uint32_t longest = 0;
  std::uint64_t first_frame = 0, last_frame = 0;

  void add(const PauseCounts& other);
  friend bool operator==(const PauseCounts&, const PauseCounts&) = default;
};

class PauseFrames {
 public:
  using BySource = std::map<std::string, PauseCounts>;
  static constexpr std::size_t kMostSources = 64;  // further ones are "others"

  void note(const Pause& pause, std::uint64_t frame);
  // By MAC address.
  [[nodiscard]] BySource by_source() const;
  [[nodiscard]] bool empty() const { return counts_.empty(); }

 private:
  static constexpr std::uint64_t kOthers = UINT64_MAX;
  std::map<std::uint64_t, PauseCounts> counts_;
};

// "12 pauses of class 3 by 02:00:00:00:00:01, longest 65535 quanta"; empty if there are none.
[[nodiscard]] std::string pause_text(const PauseFrames::BySource& sources);

}  // namespace rpcrdma::capture
