#include "suggest.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>

namespace rpcrdma::filter {

namespace {

// Longer than any name in the schema; a longer word is not a misspelling of one.
constexpr std::size_t kLongest = 64;

char lower_char(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower_char);
  return out;
}

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_char(x) == lower_char(y); });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table: the two previous ones and the current one.
  std::array<std::vector<std::size_t>, 3> row;
  for (auto& r : row) r.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[1][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[2][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = lower_char(a[i - 1]);
      const char y = lower_char(b[j - 1]);
      row[2][j] = std::min({row[1][j] + 1, row[2][j - 1] + 1, row[1][j - 1] + (x == y ? 0U : 1U)});
      if (i > 1 && j > 1 && x == lower_char(b[j - 2]) && lower_char(a[i - 2]) == y) {
        row[2][j] = std::min(row[2][j], row[0][j - 2] + 1);
      }
    }
    std::rotate(row.begin(), row.begin() + 1, row.end());
  }
  return row[1][b.size()];
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> names) {
  if (word.size() > kLongest) return std::nullopt;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string_view> found;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < best) {
      best = distance;
      found = name;
    }
  }
  return found;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> names) {
  const auto name = nearest(word, names);
  return name ? fmt::format(", did you mean {}?", *name) : std::string();
}

}  // namespace rpcrdma::filter
