// The sections of the page (report_html.h). Each function returns a section with its heading, or an
// empty text if the report has no data for it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rpcrdma/plot/escape.h>
#include <rpcrdma/plot/svg.h>
#include <rpcrdma/report/report.h>

namespace rpcrdma::report::html {

// Limits of the page.
inline constexpr std::size_t kMostFindings = 200;  // groups by rule and peer
inline constexpr std::size_t kMostOfGroup = 20;
inline constexpr std::size_t kMostConnections = 500;
inline constexpr std::size_t kMostCredits = 24;
inline constexpr std::size_t kOpenPictures = 3;  // of one kind; further ones are folded up
inline constexpr std::size_t kMostSpans = 12;
inline constexpr std::size_t kMostLatencyRows = 200;
inline constexpr std::size_t kMostProcedures = 200;
inline constexpr std::size_t kMostFiles = 200;
inline constexpr std::size_t kMostTextBytes = 2000;  // of one cell

[[nodiscard]] std::string style_sheet();
[[nodiscard]] std::string script();

// The most important numbers, as tiles.
[[nodiscard]] std::string tiles(const Report& report);
[[nodiscard]] std::string findings(const Report& report);
// Latency by client, server, connection and size.
[[nodiscard]] std::string who_is_slow(const Report& report);
[[nodiscard]] std::string over_time(const Report& report);
[[nodiscard]] std::string credits(const Report& report);
[[nodiscard]] std::string latency(const Report& report);
[[nodiscard]] std::string slowest(const Report& report);
[[nodiscard]] std::string connections(const Report& report);
[[nodiscard]] std::string procedures(const Report& report);
[[nodiscard]] std::string files(const Report& report);
[[nodiscard]] std::string packets(const Report& report);
[[nodiscard]] std::string capture_quality(const Report& report);
[[nodiscard]] std::string recording(const Report& report);
[[nodiscard]] std::string sessions(const Report& report);

// Escapes untrusted text for use between tags or in quotes, and truncates very long text.
[[nodiscard]] std::string text(std::string_view value);

// Returns "frames 3, 5, 9, ..."; empty without frames.
[[nodiscard]] std::string frames(const std::vector<std::uint64_t>& list, std::uint64_t count);

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

// Columns of a latency distribution: Calls, quantiles, max, mean. Cells are empty where there are
// too few Calls.
void latency_columns(Table& table);
void latency_cells(Table& table, const base::Histogram& h);

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

// Says which times are cut from the charts; empty if none are.
[[nodiscard]] std::string cuts_note(const Report& report);

}  // namespace rpcrdma::report::html
