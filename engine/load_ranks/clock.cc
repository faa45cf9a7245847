#include <algorithm>

#include <rpcrdma/load_ranks/clock.h>

namespace rpcrdma::load_ranks {

namespace {

using fabric::Time;

// What a rank needs besides the announcement: to be scheduled, and to arm its timer.
constexpr Time kMargin = 100 * fabric::kMillisecond;

}  // namespace

void OffsetEstimate::add(const PingPong& exchange) {
  const Time took = exchange.received - exchange.sent;
  if (took < 0) return;
  if (!shortest_ || took < shortest_->received - shortest_->sent) shortest_ = exchange;
}

std::optional<ClockOffset> OffsetEstimate::best() const {
  if (!shortest_) return std::nullopt;
  const Time took = shortest_->received - shortest_->sent;
  return ClockOffset{shortest_->remote - (shortest_->sent + took / 2), (took + 1) / 2};
}

Time to_rank(Time coordinator, const ClockOffset& offset) {
  return coordinator + offset.offset;
}

Time to_coordinator(Time rank, const ClockOffset& offset) {
  return rank - offset.offset;
}

Time start_time(Time now, Time announcement) {
  return now + 2 * std::max<Time>(announcement, 0) + kMargin;
}

}  // namespace rpcrdma::load_ranks
