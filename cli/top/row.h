// Builds one line of a screen, exactly as wide as requested whatever is put into it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/top/draw.h>

namespace rpcrdma::top {

class Row {
 public:
  Row(std::size_t width, bool utf8) : left_(width), utf8_(utf8) {}

  // Appends as much of the text as fits.
  Row& put(std::string_view text, Style style = Style::kPlain) {
    return fitted(plot::fit_terminal(text, left_, utf8_), style);
  }

  enum class Side : bool { kLeft, kRight };
  // Appends the text in exactly `width` columns, or in those that are left.
  Row& cell(std::string_view text, std::size_t width, Side side, Style style = Style::kPlain) {
    width = std::min(width, left_);
    const std::string fit = plot::fit_terminal(text, width, utf8_);
    const std::string space(width - plot::terminal_width(fit), ' ');
    return fitted(side == Side::kLeft ? fit + space : space + fit, style);
  }

  Row& space(std::size_t width, Style style = Style::kPlain) {
    return fitted(std::string(std::min(width, left_), ' '), style);
  }
  // Fills the remaining columns except `kept`.
  Row& fill(const char* with, Style style, std::size_t kept = 0) {
    std::string text;
    for (std::size_t n = left_; n > kept; --n) text += with;
    return fitted(std::move(text), style);
  }

  [[nodiscard]] std::size_t left() const { return left_; }

  [[nodiscard]] Line take(Style rest = Style::kPlain) {
    space(left_, rest);
    return std::move(line_);
  }

 private:
  Row& fitted(std::string text, Style style) {
    if (text.empty()) return *this;
    left_ -= plot::terminal_width(text);
    if (!line_.empty() && line_.back().style == style) {
      line_.back().text += text;
    } else {
      line_.push_back({style, std::move(text)});
    }
    return *this;
  }

  Line line_;
  std::size_t left_;
  bool utf8_;
};

}  // namespace rpcrdma::top
