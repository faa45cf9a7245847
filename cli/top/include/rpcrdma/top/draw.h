// Draws a live view as lines of text. Pure functions: no clock, no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

enum class Style : std::uint8_t { kPlain, kDim, kBold, kBar, kSelected, kGood, kWarning, kBad };

// A piece of a line, with one style.
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

// Returns how many connections fit on a screen. `shown`: what was shown last, whose other parts
// need room.
[[nodiscard]] std::size_t table_rows(const Size& size, const Shown& shown);

// Draws a screen of as many lines as `size` requests, each exactly as wide. `utf8`: the terminal
// shows more than ASCII. Text from peers is escaped.
[[nodiscard]] std::vector<Line> draw(const Shown& shown, const View& view, const Size& size,
                                     bool utf8);

// The same without keys and selection, as long as necessary, for files and scripts.
[[nodiscard]] std::vector<Line> draw_plain(const Shown& shown, std::size_t width, bool utf8);

// Returns the line without styles and trailing blanks.
[[nodiscard]] std::string plain(const Line& line);
// Returns the line with escape sequences of ECMA-48 if `colour` is set, else with bold and inverse
// only.
[[nodiscard]] std::string ansi(const Line& line, bool colour);

}  // namespace rpcrdma::top
