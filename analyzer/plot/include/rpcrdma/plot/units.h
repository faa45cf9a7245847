// Numbers with units, short enough for an axis.
#pragma once

#include <cstdint>
#include <string>

namespace rpcrdma::plot {

enum class Unit : std::uint8_t { kCount, kSeconds, kBytes, kPerSecond, kBytesPerSecond };

// At most four digits: "64", "1.2 k", "873 ns", "18.2 us", "1.5 min", "64 KiB", "3.4 MiB/s". NaN
// and infinity are "?".
[[nodiscard]] std::string format_value(Unit unit, double value);

}  // namespace rpcrdma::plot
