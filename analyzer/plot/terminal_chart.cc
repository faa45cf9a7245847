// Draws charts as braille dots, or as ASCII letters.
#include "scale.h"
#include "series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/plot/terminal.h>

namespace rpcrdma::plot {

namespace {

constexpr std::array kTerminalColours{"36", "33", "32", "35", "34", "31"};
constexpr std::string_view kLetters = "*+ox%@";
constexpr std::array kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Whether a dot column of a line is drawn; the gaps distinguish lines without colour.
bool dash(std::size_t line, std::size_t x) {
  switch (line % 4) {
    case 0:
      return true;
    case 1:
      return x % 2 == 0;
    case 2:
      return x % 4 < 2;
    default:
      return x % 4 == 0;
  }
}

// U+2800 + dots; a cell has two columns of four.
std::string braille(unsigned dots) {
  std::string out = "\xe2";
  out += static_cast<char>(0xa0U | dots >> 6U);
  out += static_cast<char>(0x80U | (dots & 0x3fU));
  return out;
}

unsigned braille_dot(std::size_t x, std::size_t y_from_below) {
  constexpr std::array<std::array<unsigned, 4>, 2> kDots{
      {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}};
  return kDots[x][y_from_below];
}

struct Cell {
  unsigned dots = 0;       // of the braille character
  std::string_view glyph;  // used if there are none
  int series = -1;
};

class Canvas {
 public:
  Canvas(std::size_t columns, const Terminal& terminal)
      : columns_(columns), terminal_(terminal), cells_(columns * terminal.height) {}

  // Dots per character cell.
  [[nodiscard]] std::size_t dots_x() const { return terminal_.utf8 ? 2 : 1; }
  [[nodiscard]] std::size_t dots_y() const { return terminal_.utf8 ? 4 : 1; }

  // The row of dots, from below, that contains `share` of the height.
  [[nodiscard]] std::size_t dot_row(double share) const {
    const std::size_t rows = terminal_.height * dots_y();
    const auto up = static_cast<std::size_t>(std::ceil(share * static_cast<double>(rows) - 1e-9));
    return up == 0 ? 0 : std::min(rows, up) - 1;
  }

  void area(int series, const std::vector<Extent>& columns, const Scale& y) {
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!columns[c].any()) continue;
      const double eighths = y.at(columns[c].high) * static_cast<double>(terminal_.height) * 8;
      auto left = static_cast<std::size_t>(std::lround(eighths));
      if (left == 0 && columns[c].high > 0) left = 1;
      for (std::size_t row = 0; left != 0; ++row) {
        const std::size_t here = std::min<std::size_t>(left, 8);
        Cell& cell = at(c, row);
        cell.series = series;
        cell.glyph = terminal_.utf8 ? kBlocks[here - 1] : here > 4 ? "#" : ".";
        left -= here;
      }
    }
  }

  void line(int series, std::size_t number, const std::vector<Extent>& columns, const Scale& y,
            bool joined) {
    std::size_t last_low = 0;
    std::size_t last_high = 0;
    bool last = false;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (!columns[c].any()) {
        last = false;
        continue;
      }
      const std::size_t own_low = dot_row(y.at(columns[c].low));
      const std::size_t own_high = dot_row(y.at(columns[c].high));
      std::size_t low = own_low;
      std::size_t high = own_high;
      if (joined && last) {  // a jump is drawn as a vertical line
        if (last_high + 1 < low) low = last_high + 1;
        if (last_low > high + 1) high = last_low - 1;
      }
      const bool upright = low != high;
      if (upright || dash(number, c)) {
        for (std::size_t d = low; d <= high; ++d) dot(series, number, c, d);
      }
      last_low = own_low;
      last_high = own_high;
      last = true;
    }
  }

  // Row 0 is the lowest.
  [[nodiscard]] std::string row(std::size_t r) const {
    std::string out;
    int colour = -1;
    std::size_t end = columns_;
    while (end != 0 && at(end - 1, r).series < 0) --end;
    for (std::size_t c = 0; c < end; ++c) {
      const Cell& cell = at(c, r);
      if (terminal_.colour && cell.series != colour) {
        if (colour >= 0) out += "\033[0m";
        colour = cell.series;
        if (colour >= 0) {
          out += fmt::format(
              "\033[{}m",
              kTerminalColours[static_cast<std::size_t>(colour) % kTerminalColours.size()]);
        }
      }
      if (cell.dots != 0) {
        out += braille(cell.dots);
      } else if (cell.glyph.empty()) {
        out += ' ';
      } else {
        out += cell.glyph;
      }
    }
    if (colour >= 0) out += "\033[0m";
    return out;
  }

 private:
  void dot(int series, std::size_t number, std::size_t x, std::size_t y) {
    Cell& cell = at(x / dots_x(), y / dots_y());
    cell.series = series;
    if (terminal_.utf8) {
      cell.dots |= braille_dot(x % 2, y % 4);
    } else {
      cell.glyph = kLetters.substr(number % kLetters.size(), 1);
    }
  }
  [[nodiscard]] Cell& at(std::size_t column, std::size_t row) {
    return cells_[row * columns_ + column];
  }
  [[nodiscard]] const Cell& at(std::size_t column, std::size_t row) const {
    return cells_[row * columns_ + column];
  }

  std::size_t columns_;
  const Terminal& terminal_;
  std::vector<Cell> cells_;
};

// The legend's sample of a series, `kSample` columns wide.
constexpr std::size_t kSample = 2;
std::string sample(const Series& s, std::size_t line, bool utf8) {
  if (s.style == Style::kArea) return utf8 ? "▄▄" : "##";
  if (!utf8) return std::string(kSample, kLetters[line % kLetters.size()]);
  std::string out;
  for (std::size_t c = 0; c < kSample; ++c) {
    unsigned dots = 0;
    for (std::size_t x = 0; x < 2; ++x) {
      if (dash(line, c * 2 + x)) dots |= braille_dot(x, 2);
    }
    out += braille(dots);
  }
  return out;
}

// Numbers lines separately from areas, for their dashes.
std::vector<std::size_t> line_numbers(const Chart& chart) {
  std::vector<std::size_t> numbers;
  std::size_t lines = 0;
  for (const Series& s : chart.series) numbers.push_back(s.style == Style::kArea ? 0 : lines++);
  return numbers;
}

std::string legend(const Chart& chart, const std::vector<std::size_t>& lines, std::size_t indent,
                   const Terminal& t) {
  std::string out;
  std::string line;
  std::size_t used = 0;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& s = chart.series[i];
    const std::string name = fit_terminal(s.name, t.width - indent - kSample - 1, t.utf8);
    const std::size_t columns = kSample + 1 + terminal_width(name);
    if (used != 0 && indent + used + 3 + columns > t.width) {
      out += std::string(indent, ' ') + line + '\n';
      line.clear();
      used = 0;
    }
    if (used != 0) {
      line += "   ";
      used += 3;
    }
    const std::string mark = sample(s, lines[i], t.utf8);
    line += t.colour ? fmt::format("\033[{}m{}\033[0m",
                                   kTerminalColours[i % kTerminalColours.size()], mark)
                     : mark;
    line += ' ' + name;
    used += columns;
  }
  return out + std::string(indent, ' ') + line + '\n';
}

// The axis line under the plot, with its labels below.
std::string x_axis(const Axis& x, Unit unit, std::size_t label_width, std::size_t columns,
                   const std::string& zero, const Terminal& t) {
  std::vector<bool> mark(columns, false);
  std::string labels(label_width + 2 + columns, ' ');
  std::size_t free_from = 0;
  for (const double tick : x.ticks) {
    const auto column = std::min(
        columns - 1, static_cast<std::size_t>(x.scale.at(tick) * static_cast<double>(columns)));
    const std::string text = format_value(unit, tick);
    std::size_t at = label_width + 2 + column;
    at -= std::min(at, text.size() / 2);
    at = std::min(at, labels.size() - std::min(labels.size(), text.size()));
    if (at < free_from || at + text.size() > labels.size()) continue;
    labels.replace(at, text.size(), text);
    free_from = at + text.size() + 2;
    mark[column] = true;
  }
  std::string out = fmt::format("{:>{}} ", zero, label_width);
  out += t.utf8 ? "└" : "+";
  for (std::size_t c = 0; c < columns; ++c) {
    out += mark[c] ? (t.utf8 ? "┴" : "+") : (t.utf8 ? "─" : "-");
  }
  labels.resize(labels.find_last_not_of(' ') + 1);
  return out + '\n' + labels + '\n';
}

}  // namespace

std::string to_terminal(const Chart& chart, const Terminal& terminal) {
  constexpr std::size_t kMostHeight = 100;
  constexpr std::size_t kMostWidth = 1000;
  constexpr std::size_t kLeastColumns = 8;
  Terminal t = terminal;
  t.height = std::clamp<std::size_t>(t.height, 2, kMostHeight);
  t.width = std::min(t.width, kMostWidth);
  const Range range = range_of(chart);
  if (!range.x.any() || !range.y.any()) return {};

  const int most_ticks = static_cast<int>(std::min<std::size_t>(t.height / 2 + 1, 6));
  const Axis y = value_axis(chart.y_unit, range.y_positive, range.y.high, chart.y_log, most_ticks);
  std::size_t label_width = 0;
  for (const double tick : y.ticks) {
    label_width = std::max(label_width, format_value(chart.y_unit, tick).size());
  }
  if (t.width < label_width + 2 + kLeastColumns) return {};
  const std::size_t columns = t.width - label_width - 2;
  const Axis x = time_axis(chart.x_unit, range.x.low, range.x.high,
                           static_cast<int>(std::max<std::size_t>(columns / 12, 2)));

  Canvas canvas(columns, t);
  const std::vector<std::size_t> lines = line_numbers(chart);
  // Areas first, so that lines are drawn in front of them.
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& s = chart.series[i];
    if (s.style == Style::kArea) {
      canvas.area(static_cast<int>(i), plot::columns(s, x.scale, columns), y.scale);
    }
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& s = chart.series[i];
    if (s.style == Style::kArea) continue;
    canvas.line(static_cast<int>(i), lines[i], plot::columns(s, x.scale, columns * canvas.dots_x()),
                y.scale, s.style != Style::kDots);
  }

  std::vector<std::string> labels(t.height);
  std::string zero;  // label of the lowest tick, next to the axis
  for (const double tick : y.ticks) {
    const double share = y.scale.at(tick);
    (share == 0 ? zero : labels[canvas.dot_row(share) / canvas.dots_y()]) =
        format_value(chart.y_unit, tick);
  }
  std::string out;
  if (!chart.title.empty()) out += fit_terminal(chart.title, t.width, t.utf8) + '\n';
  for (std::size_t r = t.height; r-- != 0;) {
    const char* edge = labels[r].empty() ? (t.utf8 ? "│" : "|") : (t.utf8 ? "┤" : "+");
    out += fmt::format("{:>{}} {}{}\n", labels[r], label_width, edge, canvas.row(r));
  }
  out += x_axis(x, chart.x_unit, label_width, columns, zero, t);
  const bool named = chart.series.size() > 1 || !chart.series.front().name.empty();
  if (named) out += legend(chart, lines, label_width + 2, t);
  return out;
}

}  // namespace rpcrdma::plot
