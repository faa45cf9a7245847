#include "histogram.h"
#include "scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/plot/terminal.h>

namespace rpcrdma::plot {

namespace {

constexpr std::array kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string bar(double share, std::size_t width, bool utf8) {
  if (!(share > 0)) return {};
  std::string out;
  // Every nonzero value is visible.
  const auto parts = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(share * static_cast<double>(width) * 8)));
  if (!utf8) return std::string(std::max<std::size_t>(1, (parts + 4) / 8), '#');
  for (std::size_t i = 0; i < parts / 8; ++i) out += "█";
  return out + kEighths[parts % 8];
}

double bar_length(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, 0.0, kLargest);
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t columns = terminal_width(text);
  const std::string pad(width > columns ? width - columns : 0, ' ');
  return right ? pad + text : text + pad;
}

struct Row {
  std::string label, value, note;
  double size = 0;
};

std::string rows_text(const std::string& title, const std::vector<Row>& rows,
                      const Terminal& terminal, bool labels_right) {
  std::size_t label_width = 0;
  std::size_t value_width = 0;
  std::size_t note_width = 0;
  double most = 0;
  for (const Row& r : rows) {
    label_width = std::max(label_width, terminal_width(r.label));
    value_width = std::max(value_width, terminal_width(r.value));
    note_width = std::max(note_width, terminal_width(r.note));
    most = std::max(most, r.size);
  }
  label_width = std::min(label_width, terminal.width / 2);
  note_width = std::min(note_width, terminal.width / 4);
  const std::size_t used = label_width + value_width + 2 + (note_width != 0 ? note_width + 1 : 0);
  constexpr std::size_t kLeastBar = 4;
  if (rows.empty() || terminal.width < used + kLeastBar) return {};
  const std::size_t bar_width = terminal.width - used;
  std::string out;
  if (!title.empty()) out += fit_terminal(title, terminal.width, terminal.utf8) + '\n';
  for (const Row& r : rows) {
    const std::string picture = bar(most > 0 ? r.size / most : 0, bar_width, terminal.utf8);
    std::string line =
        padded(fit_terminal(r.label, label_width, terminal.utf8), label_width, labels_right) + ' ' +
        padded(r.value, value_width, true);
    if (note_width != 0) {
      line += ' ' + padded(fit_terminal(r.note, note_width, terminal.utf8), note_width, true);
    }
    if (!picture.empty()) {
      line += ' ';
      line += terminal.colour ? fmt::format("\033[36m{}\033[0m", picture) : picture;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace

std::string to_terminal(const Bars& bars, const Terminal& terminal) {
  std::vector<Row> rows;
  for (const Bar& b : bars.bars) {
    rows.push_back({fit_terminal(b.label, terminal.width, terminal.utf8),
                    format_value(bars.unit, b.value),
                    fit_terminal(b.note, terminal.width, terminal.utf8), bar_length(b.value)});
  }
  return rows_text(bars.title, rows, terminal, false);
}

std::string to_terminal(const Histogram& histogram, const Terminal& terminal) {
  std::vector<Bucket> buckets = regroup(histogram.buckets, 3);
  constexpr std::size_t kMostRows = 24;
  if (buckets.size() > kMostRows) buckets = regroup(histogram.buckets, 1);
  double all = 0;
  for (const Bucket& b : buckets) all += static_cast<double>(b.count);
  std::vector<Row> rows;
  for (const Bucket& b : buckets) {
    const auto count = static_cast<double>(b.count);
    rows.push_back({fmt::format("{} -", format_value(histogram.unit, b.low)),
                    format_value(Unit::kCount, count), fmt::format("{:.1f}%", 100 * count / all),
                    count});
  }
  return rows_text(histogram.title, rows, terminal, true);
}

}  // namespace rpcrdma::plot
