// Captures with random damage: the same seed does the same.
#pragma once

#include "dissection.h"

#include <cstdint>
#include <vector>

namespace rpcrdma::wireshark::testing {

// One way in which a capture can be spoilt. All but kBytes leave packets that the analyzer goes
// into: their ICRCs are made anew.
enum class Damage : std::uint8_t {
  kBytes,    // any byte, with a probability of 2 in 100, as editcap -E does
  kPayload,  // the same behind the base transport header
  kWords,    // words of the first message bytes get values that lengths and counts must not have
  kCut,      // some frames are captured in part
  kOrder,    // frames are lost, swapped and there twice
};
inline constexpr unsigned kDamages = 5;

// Gives all RoCEv2 packets other addresses, those of a copy's own.
void readdress(std::vector<Record>& capture, std::uint16_t copy);

void damage(std::vector<Record>& capture, Damage kind, std::uint64_t seed);

}  // namespace rpcrdma::wireshark::testing
