// Does a bad ICRC of a sender mean that its packet is damaged? It does while most packets of that
// sender are good. Where the ICRC is not computed or not checked (simulated devices, devices with
// the ICRC off) and in captures whose addresses a tool rewrote, it does not: receivers answer
// packets with bad ICRCs, and such an answer is the evidence.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcrdma::roce {

class IcrcTrust {
 public:
  // A sender of which nothing is known: its packets are accepted until the first good ICRC.
  [[nodiscard]] static constexpr IcrcTrust unknown() { return {State::kUnchecked, kEnough - 1}; }
  // The CM messages of its port have good ICRCs: packets with a bad one wait for the first
  // evidence.
  [[nodiscard]] static constexpr IcrcTrust doubtful() { return {State::kChecked, 0}; }
  // Other connections of its port have good ICRCs.
  [[nodiscard]] static constexpr IcrcTrust trusted() { return {State::kChecked, kMost}; }
  constexpr IcrcTrust() = default;

  // No packet of this sender was judged yet.
  [[nodiscard]] constexpr bool fresh() const { return state_ == State::kFresh; }
  // A bad ICRC means damage.
  [[nodiscard]] constexpr bool checked() const { return state_ == State::kChecked; }
  // Checked, but no packet was good so far.
  [[nodiscard]] constexpr bool is_doubtful() const { return checked() && score_ == 0; }

  // A further good ICRC changes nothing.
  [[nodiscard]] constexpr bool is_full() const { return checked() && score_ == kMost; }

  // Each of these notes a packet and returns whether checked() changed.
  // Its ICRC is good.
  constexpr bool good() {
    if (checked()) {
      score_ = static_cast<std::uint8_t>(std::clamp(score_ + 1, int{kSome}, int{kMost}));
      return false;
    }
    if (++score_ < kEnough) return false;
    *this = {State::kChecked, kSome};
    return true;
  }
  // Its ICRC is bad, and it was accepted.
  constexpr void accepted() {
    if (!checked() && score_ != 0) --score_;
  }
  // Its ICRC is bad, and the receiver shows that it accepted the packet.
  constexpr bool answered() {
    if (!checked()) return false;
    if (score_ > 1) {
      --score_;
      return false;
    }
    *this = {State::kUnchecked, kEnough - 4};
    return true;
  }

 private:
  enum class State : std::uint8_t { kFresh, kChecked, kUnchecked };
  // Pieces of evidence that end the trust in a sender: after its first good ICRC, after many.
  static constexpr std::uint8_t kSome = 3, kMost = 6;
  static constexpr std::uint8_t kEnough = 16;  // good ICRCs, less the bad ones, that restore trust
  constexpr IcrcTrust(State state, std::uint8_t score) : state_(state), score_(score) {}

  State state_ = State::kFresh;
  std::uint8_t score_ = 0;
};

}  // namespace rpcrdma::roce
