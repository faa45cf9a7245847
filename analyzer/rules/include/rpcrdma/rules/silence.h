// The longest silences of responders for which Calls waited, whether or not they are findings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rpcrdma::rules {

// The number of connections and directions of which the longest silence is kept.
inline constexpr std::size_t kSilences = 16;

// From the last sign of life of the responder, or from the first Call that waited, to the next sign
// of life.
struct Silence {
  std::uint32_t connection = 0;  // index
  std::uint8_t caller = 0;       // the side whose Calls waited
  std::int64_t since_ns = 0;
  std::int64_t until_ns = 0;
  std::uint32_t calls = 0;  // in flight
  std::uint64_t frame = 0;  // of the latest of them
  bool ended = true;        // false: the connection or the capture ended first

  [[nodiscard]] std::int64_t length_ns() const { return until_ns - since_ns; }
};

}  // namespace rpcrdma::rules
