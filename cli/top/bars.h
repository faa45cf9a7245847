// A stacked bar chart over time: one column per second, the newest at the right.
#pragma once

#include "row.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rpcrdma::top {

struct Bar {
  std::uint32_t value = 0;
  Style style = Style::kPlain;
};

// Draws line `line` of `lines`, counted from the top, in `width` columns; a bar of `full` reaches
// the top of the first line. The oldest bars are dropped if there is no room.
void put_bars(Row& row, std::span<const Bar> bars, std::uint32_t full, std::size_t line,
              std::size_t lines, std::size_t width, bool utf8);

}  // namespace rpcrdma::top
