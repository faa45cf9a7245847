// What a rank sends the coordinator each second, so that a rank that dies leaves what it did.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/fabric/time.h>
#include <rpcrdma/load/interval.h>

namespace rpcrdma::load_ranks {

struct Tick {
  std::uint32_t rank = 0;
  std::uint32_t round = 0;
  std::uint64_t index = 0;   // of the second after the round's start
  fabric::Time elapsed = 0;  // from the round's start to the end of the interval
  load::Interval interval;
};

[[nodiscard]] std::vector<std::uint8_t> encode(const Tick& tick);
// The bytes are untrusted.
[[nodiscard]] base::Expected<Tick> decode_tick(std::span<const std::uint8_t> bytes);

}  // namespace rpcrdma::load_ranks
