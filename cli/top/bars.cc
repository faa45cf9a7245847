#include "bars.h"

#include <algorithm>
#include <array>

namespace rpcrdma::top {

namespace {

constexpr std::array<const char*, 9> kEighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kAscii{" ", "_", ".", ".", "-", "-", "=", "=", "#"};

}  // namespace

void put_bars(Row& row, std::span<const Bar> bars, std::uint32_t full, std::size_t line,
              std::size_t lines, std::size_t width, bool utf8) {
  width = std::min(width, row.left());
  if (bars.size() > width) bars = bars.last(width);
  row.space(width - bars.size());
  const auto& glyphs = utf8 ? kEighths : kAscii;
  // in eighths: the height of the lines below this one
  const std::uint64_t below = 8 * (lines - 1 - line);
  for (const Bar& bar : bars) {
    const std::uint64_t size = std::uint64_t{8} * lines;
    std::uint64_t eighths =
        full == 0 ? 0 : std::min<std::uint64_t>(size, (bar.value * size + full / 2) / full);
    // A value above zero is always visible.
    if (bar.value != 0) eighths = std::max<std::uint64_t>(eighths, 1);
    const std::uint64_t here = eighths > below ? std::min<std::uint64_t>(eighths - below, 8) : 0;
    row.put(glyphs[here], bar.style);
  }
}

}  // namespace rpcrdma::top
