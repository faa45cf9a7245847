// The parts of a self-contained page: style, script, sections, tables and pictures. Every page of
// rpcrdma consists of these, whatever it is about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/plot/svg.h>

namespace rpcrdma::report::html {

inline constexpr std::size_t kOpenPictures = 3;      // of one kind; further ones are folded up
inline constexpr std::size_t kMostTextBytes = 2000;  // of one cell

[[nodiscard]] std::string style_sheet();
[[nodiscard]] std::string script();
// From the doctype to the begin of the body, with the styles. `title`: unescaped.
[[nodiscard]] std::string page_head(std::string_view title);
// From the footer, whose text is unescaped, to the end, with the script.
[[nodiscard]] std::string page_foot(std::string_view footer);

// Escapes untrusted text for use between tags or in quotes, and truncates very long text.
[[nodiscard]] std::string text(std::string_view value);

[[nodiscard]] std::string section(const char* id, const char* heading, const std::string& body);
// A paragraph in small print.
[[nodiscard]] std::string aside(const std::string& escaped);

// A table with a head. The script sorts it by the column that the user clicks.
class Table {
 public:
  enum class Align { kLeft, kRight };
  explicit Table(const char* caption) : caption_(caption) {}
  Table& column(const char* name, Align align, const char* help = "");

  void row();
  void cell(std::string_view unescaped);
  void cell(std::string_view unescaped, double sort_by);
  void count(std::uint64_t n);  // an empty cell for 0
  void markup(const std::string& escaped);

  [[nodiscard]] std::string take();

 private:
  void open_cell(const std::string& attributes);

  struct Column {
    const char* name;
    Align align;
    const char* help;
  };
  const char* caption_;
  std::vector<Column> columns_;
  std::string rows_;
  std::size_t at_ = 0;
  bool any_ = false;
};

// Charts, side by side if there is room.
class Figures {
 public:
  explicit Figures(std::string prefix) : prefix_(std::move(prefix)) {}
  template <typename Picture>
  void add(const Picture& picture, int height = 230) {
    const std::string svg =
        plot::to_svg(picture, {540, height, prefix_ + std::to_string(++number_), false});
    if (!svg.empty()) body_ += "<figure>" + svg + "</figure>\n";
  }
  [[nodiscard]] bool empty() const { return body_.empty(); }
  [[nodiscard]] std::string take() const {
    return "<div class=\"figures\">\n" + body_ + "</div>\n";
  }

 private:
  std::string prefix_;
  std::string body_;
  int number_ = 0;
};

// Pictures below each other, as wide as the page, so that their axes stand below each other too.
// Each is drawn twice, for wide and for narrow screens; the style sheet shows one of them.
class Stack {
 public:
  explicit Stack(std::string prefix) : prefix_(std::move(prefix)) {}
  template <typename Picture>
  void add(const Picture& picture, int height = 170) {
    const std::string id = prefix_ + std::to_string(++number_);
    const std::string wide = plot::to_svg(picture, {1040, height, id, false});
    if (wide.empty()) return;
    const std::string narrow = plot::to_svg(picture, {480, height + 30, id + "n", false});
    body_ += "<figure class=\"full\"><div class=\"wider\">" + wide +
             "</div><div class=\"narrower\">" + narrow + "</div></figure>\n";
  }
  // Pictures beyond the first few are folded up under `summary`.
  template <typename Picture>
  void add_folded(const std::vector<Picture>& pictures, const std::string& summary,
                  int height = 170) {
    std::string before;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      if (i == kOpenPictures) before = std::exchange(body_, {});
      add(pictures[i], height);
    }
    if (before.empty()) return;
    body_ = before + "<details><summary>" + summary + "</summary>\n" + body_ + "</details>\n";
  }
  void append(const Stack& other) { body_ += other.body_; }
  [[nodiscard]] bool empty() const { return body_.empty(); }
  [[nodiscard]] std::string take() const { return "<div class=\"stack\">\n" + body_ + "</div>\n"; }

 private:
  std::string prefix_;
  std::string body_;
  int number_ = 0;
};

}  // namespace rpcrdma::report::html
