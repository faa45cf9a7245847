// Captures with random damage: the same seed gives the same result.
#pragma once

#include "dissection.h"

#include <cstdint>
#include <vector>

namespace rpcrdma::wireshark::testing {

// A kind of damage. All except kBytes keep packets valid for the analyzer: their ICRCs are
// recomputed.
enum class Damage : std::uint8_t {
  kBytes,    // any byte, with a probability of 2 in 100, as editcap -E does
  kPayload,  // the same, behind the base transport header
  kWords,    // words in the first message bytes get invalid lengths and counts
  kCut,      // some frames are cut short
  kOrder,    // frames are lost, swapped and duplicated
};
inline constexpr unsigned kDamages = 5;

// Changes the addresses of all RoCEv2 packets, so that each copy has its own.
void readdress(std::vector<Record>& capture, std::uint16_t copy);

void damage(std::vector<Record>& capture, Damage kind, std::uint64_t seed);

}  // namespace rpcrdma::wireshark::testing
