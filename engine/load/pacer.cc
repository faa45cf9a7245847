#include <cmath>

#include <rpcrdma/load/pacer.h>

namespace rpcrdma::load {

Pacer::Pacer(const PacerOptions& options)
    : options_(options),
      share_(options.count == 0 ? UINT64_MAX
                                : options.count / options.threads +
                                      (options.thread < options.count % options.threads ? 1 : 0)) {}

void Pacer::begin(fabric::Time now) {
  begin_ = now;
  if (options_.duration < fabric::kNever - now) end_ = now + options_.duration;
}

void Pacer::stop(fabric::Time now) {
  if (now < end_) end_ = now;
}

fabric::Time Pacer::due_of(std::uint64_t call) const {
  // Computed from the start for each Call, so that errors do not accumulate.
  const auto number =
      static_cast<long double>(call) * options_.threads + static_cast<long double>(options_.thread);
  const long double after = std::floor(number * 1e9L / static_cast<long double>(options_.rate));
  if (after >= static_cast<long double>(fabric::kNever - begin_)) return fabric::kNever;
  return begin_ + static_cast<fabric::Time>(after);
}

fabric::Time Pacer::due(fabric::Time now) const {
  if (taken_ >= share_ || now >= end_) return fabric::kNever;
  if (options_.rate == 0) return now;
  const fabric::Time next = due_of(taken_);
  return next < end_ ? next : fabric::kNever;
}

fabric::Time Pacer::planned() const {
  if (options_.rate == 0) return 0;
  fabric::Time time = end_ == fabric::kNever ? fabric::kNever : end_ - begin_;
  if (options_.count != 0) {
    const long double of_count = std::floor(static_cast<long double>(options_.count) * 1e9L /
                                            static_cast<long double>(options_.rate));
    if (of_count < static_cast<long double>(time)) time = static_cast<fabric::Time>(of_count);
  }
  return time == fabric::kNever ? 0 : time;
}

std::uint64_t Pacer::missed() const {
  if (options_.rate == 0 || end_ == fabric::kNever || taken_ >= share_) return 0;
  // Due times never decrease, so binary search finds the first Call that is due at the end or
  // later.
  std::uint64_t low = taken_;
  std::uint64_t high = share_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (due_of(middle) < end_) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - taken_;
}

}  // namespace rpcrdma::load
