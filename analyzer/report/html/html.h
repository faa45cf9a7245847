// The sections of the page (report_html.h). Each function returns a section with its heading, or an
// empty text if the report has no data for it.
#pragma once

#include <string>
#include <string_view>
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
inline constexpr std::size_t kMostProcedures = 200;
inline constexpr std::size_t kMostTextBytes = 2000;  // of one cell

[[nodiscard]] std::string style_sheet();
[[nodiscard]] std::string script();

[[nodiscard]] std::string findings(const Report& report);
[[nodiscard]] std::string over_time(const Report& report);
[[nodiscard]] std::string credits(const Report& report);
[[nodiscard]] std::string latency(const Report& report);
[[nodiscard]] std::string slowest(const Report& report);
[[nodiscard]] std::string connections(const Report& report);
[[nodiscard]] std::string procedures(const Report& report);
[[nodiscard]] std::string packets(const Report& report);
[[nodiscard]] std::string capture_quality(const Report& report);
[[nodiscard]] std::string recording(const Report& report);

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

}  // namespace rpcrdma::report::html
