// Bars over time that stand on each other's feet: one column a second, the newest at the right.
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

// Line `line` of `lines`, from the top, `width` columns of it; a bar of `full` reaches the top of
// the first. Bars that have no room are the oldest.
void put_bars(Row& row, std::span<const Bar> bars, std::uint32_t full, std::size_t line,
              std::size_t lines, std::size_t width, bool utf8);

}  // namespace rpcrdma::top
