#include "psn_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <rpcrdma/soft/fault_injector.h>
#include <rpcrdma/wire/roce.h>

namespace rpcrdma::soft {
namespace {

constexpr std::uint32_t kHalf = 1U << 23;

// Returns how far `to` is after `from` in sending order; over kHalf it is before.
std::uint32_t distance(std::uint32_t from, std::uint32_t to) {
  return (to - from) & wire::kPsnMask;
}

}  // namespace

struct PsnStream::State {
  std::uint32_t newest = 0;
  std::uint32_t last_start = 0;  // of the newest message
  std::uint64_t messages = 0;
  std::array<std::uint8_t, kFaultTrackedPsns> seen{};  // transmissions of the newest PSNs
  std::array<std::uint32_t, kFaultTrackedMessages> starts{};

  [[nodiscard]] bool tracks(std::uint32_t psn) const {
    return distance(psn, newest) < kFaultTrackedPsns;
  }
  std::uint8_t& times(std::uint32_t psn) { return seen[psn % kFaultTrackedPsns]; }

  void advance_to(std::uint32_t psn) {
    const std::uint32_t steps = distance(newest, psn);
    if (steps == 0 || steps >= kHalf) return;
    for (std::size_t i = std::min<std::size_t>(steps, kFaultTrackedPsns); i > 0; --i) {
      times(psn - static_cast<std::uint32_t>(i) + 1) = 0;
    }
    newest = psn;
  }
  void begin_message(std::uint32_t psn) {
    if (messages != 0 && distance(last_start, psn) >= kHalf) return;
    last_start = psn;
    starts[messages++ % kFaultTrackedMessages] = psn;
  }
  // A partial retransmission of a READ starts at a PSN that its first request took.
  void take(std::uint32_t first, std::uint32_t last, std::uint8_t as_often) {
    advance_to(last);
    const std::uint32_t others = std::min<std::uint32_t>(distance(first, last), kFaultTrackedPsns);
    for (std::uint32_t i = 0; i < others; ++i) {
      const std::uint32_t psn = (last - i) & wire::kPsnMask;
      if (tracks(psn)) times(psn) = std::max(times(psn), as_often);
    }
  }
};

void PsnStream::Free::operator()(State* state) const {
  delete state;
}

std::uint64_t PsnStream::see(std::uint32_t psn, std::uint32_t psns, bool begins_message) {
  if (!state_) {
    state_.reset(new State);
    state_->newest = (psn - 1) & wire::kPsnMask;
  }
  State& s = *state_;
  s.advance_to(psn);
  if (!s.tracks(psn)) return 2;
  std::uint8_t& times = s.times(psn);
  if (times == 0 && begins_message) s.begin_message(psn);
  if (times < 255) ++times;
  const std::uint8_t attempt = times;
  if (psns > 1) s.take(psn, (psn + std::min(psns, kHalf / 2) - 1) & wire::kPsnMask, attempt);
  return attempt;
}

std::uint64_t PsnStream::message_of(std::uint32_t psn) const {
  if (!state_) return 0;
  const std::uint64_t known = std::min<std::uint64_t>(state_->messages, kFaultTrackedMessages);
  for (std::uint64_t back = 0; back < known; ++back) {
    const std::uint64_t number = state_->messages - back;
    if (distance(state_->starts[(number - 1) % kFaultTrackedMessages], psn) < kHalf) return number;
  }
  return 0;
}

}  // namespace rpcrdma::soft
