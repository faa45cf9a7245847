// The window on the packets in flight to one peer address, and the measured round trips.
#include "peer_path.h"

namespace rpcrdma::soft {

namespace {

// A queue that takes longer keeps the peer busy anyway.
constexpr fabric::Time kLongQueue = 10 * fabric::kMillisecond;
// More losses than one in so many packets are a full buffer.
constexpr std::uint32_t kFewLosses = 16;

}  // namespace

void PeerPath::answered(fabric::Time sent, fabric::Time now) {
  const fabric::Time trip = now - sent;
  shortest_ = std::min(shortest_, trip);
  newest_answered_ = std::max(newest_answered_, sent);
  if (now >= second_ends_) {
    const bool recent = now < second_ends_ + fabric::kSecond;
    longest_ = {0, recent ? longest_[0] : 0};
    second_ends_ = now + fabric::kSecond;
  }
  longest_[0] = std::max(longest_[0], trip);
}

void PeerPath::end_round() {
  std::uint32_t window = window_;
  if (losses_ > acknowledged_ / kFewLosses) {
    window /= 2;
  } else if (shortest_ != fabric::kNever && shortest_ > kLongQueue) {
    window = std::max(window - window / 8, std::min(window, kFirstWindow));
  } else if (full_ && shortest_ != fabric::kNever) {
    window += window / 4;
  }
  set_window(window);
  acknowledged_ = losses_ = 0;
  full_ = waiting_.front() != nullptr;
  shortest_ = fabric::kNever;
}

}  // namespace rpcrdma::soft
