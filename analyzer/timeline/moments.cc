#include "moments.h"

#include <algorithm>

namespace rpcrdma::timeline {

void Moments::note(std::uint64_t message, std::uint64_t frame, std::int64_t time_ns) {
  newest_ = message;
  moments_[message % kRemembered] = {frame, time_ns};
}

std::optional<std::int64_t> Moments::of_message(std::uint64_t message) const {
  if (message == 0 || message > newest_ || newest_ - message >= kRemembered) return std::nullopt;
  return at(message).time_ns;
}

std::optional<std::int64_t> Moments::of_frame(std::uint64_t frame) const {
  // Finds the first remembered message after the frame.
  const std::uint64_t oldest = newest_ - std::min<std::uint64_t>(newest_, kRemembered) + 1;
  std::uint64_t from = oldest;
  std::uint64_t to = newest_ + 1;
  while (from < to) {
    const std::uint64_t middle = from + (to - from) / 2;
    if (at(middle).frame <= frame) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  if (from == oldest) return std::nullopt;
  return at(from - 1).time_ns;
}

}  // namespace rpcrdma::timeline
