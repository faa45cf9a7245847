#include "load/over_time.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::cli {

namespace {

using fabric::Time;

std::uint64_t second_of(Time since) {
  return static_cast<std::uint64_t>(std::max<Time>(since, 0) / fabric::kSecond);
}

}  // namespace

void OverTime::begin(Time start, Time since_first) {
  start_ = start;
  since_first_ = since_first;
  second_ends_ = start + fabric::kSecond;
}

void OverTime::add(const load::Sample& sample) {
  // Outcomes come in the order of their times, but for some of one iteration of the loop.
  if (sample.times.ended >= second_ends_) {
    close_second();
    const std::uint64_t second = second_of(sample.times.ended - start_);
    second_ends_ = start_ + (static_cast<Time>(second) + 1) * fabric::kSecond;
  }
  if (sample.end != load::End::kRight) {
    ++now_.errors;
    return;
  }
  const Time latency = std::max<Time>(sample.times.ended - sample.due, 0);
  ++now_.calls;
  now_.bytes += sample.bytes;
  now_.max_ns = std::max(now_.max_ns, static_cast<std::uint64_t>(latency));
  now_latency_.add(latency);
  whole_.add(latency);
}

void OverTime::end() {
  close_second();
}

void OverTime::close_second() {
  if (now_ == load_ranks::Window()) return;
  const std::uint64_t second = second_of(second_ends_ - 1 - start_);
  series_.add(second, now_);
  // The series of the whole load has seconds of its own, in which the middle of this one lies.
  latency_.add(
      second_of(since_first_ + static_cast<Time>(second) * fabric::kSecond + fabric::kSecond / 2),
      base::CompactHistogram(now_latency_));
  now_ = {};
  now_latency_ = {};
}

}  // namespace rpcrdma::cli
