// A live view as lines of text, and what keys do to it. Pure functions: no clock, no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

enum class Style : std::uint8_t { kPlain, kDim, kBold, kBar, kSelected, kGood, kWarning, kBad };

// Parts of a line, one after the other.
struct Piece {
  Style style = Style::kPlain;
  std::string text;
  friend bool operator==(const Piece&, const Piece&) = default;
};
using Line = std::vector<Piece>;

struct Size {
  std::size_t width = 80;   // columns
  std::size_t height = 24;  // lines
};

// How many connections a screen has room for.
[[nodiscard]] std::size_t table_rows(const Size& size);

// A screen: as many lines as `size` says, each exactly as wide. `utf8`: the terminal shows more
// than ASCII. What peers sent is made harmless.
[[nodiscard]] std::vector<Line> draw(const Shown& shown, const View& view, const Size& size,
                                     bool utf8);

// The same without keys and selection, as long as it has to be, for files and scripts.
[[nodiscard]] std::vector<Line> draw_plain(const Shown& shown, std::size_t width, bool utf8);

// Without styles and what is blank at its end.
[[nodiscard]] std::string plain(const Line& line);
// With escape sequences of ECMA-48 when `colour` is set, else with bold and inverse only.
[[nodiscard]] std::string ansi(const Line& line, bool colour);

}  // namespace rpcrdma::top
