#include "interleave.h"

#include <algorithm>

namespace rpcrdma::index {

void Interleave::add(std::size_t stream, const capture::Frame& frame, bool first,
                     Clock::time_point now) {
  Held held{frame, {}, first ? INT64_MIN : frame.time_ns, now};
  if (!spare_.empty()) {
    held.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  held.bytes.assign(frame.data.begin(), frame.data.end());
  bytes_ += held.bytes.size();
  streams_[stream].held.push_back(std::move(held));
}

Interleave::Stream* Interleave::earliest() {
  Stream* found = nullptr;
  for (Stream& s : streams_) {
    if (s.held.empty()) continue;
    if (found == nullptr || s.held.front().order_ns < found->held.front().order_ns) found = &s;
  }
  return found;
}

void Interleave::pass_one(Stream& from, const std::function<void(const capture::Frame&)>& take) {
  constexpr std::size_t kMostSpare = 256;
  Held held = std::move(from.held.front());
  from.held.pop_front();
  bytes_ -= held.bytes.size();
  held.frame.data = held.bytes;
  take(held.frame);
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(held.bytes));
}

void Interleave::pass(Clock::time_point now,
                      const std::function<void(const capture::Frame&)>& take) {
  while (Stream* const from = earliest()) {
    const Held& next = from->held.front();
    const bool all_known = std::all_of(streams_.begin(), streams_.end(),
                                       [](const Stream& s) { return s.ended || !s.held.empty(); });
    const bool waits = !all_known && next.order_ns != INT64_MIN && now < next.came + kPatience;
    if (waits && bytes_ <= kMostBytes) return;
    pass_one(*from, take);
  }
}

void Interleave::drain(const std::function<void(const capture::Frame&)>& take) {
  while (Stream* const from = earliest()) pass_one(*from, take);
}

std::optional<Interleave::Clock::time_point> Interleave::due() const {
  std::optional<Clock::time_point> due;
  for (const Stream& s : streams_) {
    if (s.held.empty()) continue;
    const Clock::time_point at = s.held.front().came + kPatience;
    if (!due || at < *due) due = at;
  }
  return due;
}

}  // namespace rpcrdma::index
