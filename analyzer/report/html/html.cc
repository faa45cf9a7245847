#include "html.h"

#include <fmt/core.h>

namespace rpcrdma::report::html {

std::string text(std::string_view value) {
  if (value.size() <= kMostTextBytes) return plot::escape_xml(value);
  return plot::escape_xml(value.substr(0, kMostTextBytes)) + "...";
}

std::string page_head(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      text(title), style_sheet(), plot::svg_styles());
}

std::string page_foot(std::string_view footer) {
  return fmt::format("<footer>{}</footer>\n<script>{}</script>\n</body>\n</html>\n", text(footer),
                     script());
}

std::string frames(const std::vector<std::uint64_t>& list, std::uint64_t count) {
  if (list.empty()) return {};
  std::string out = list.size() == 1 ? "frame" : "frames";
  for (std::size_t i = 0; i < list.size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? " " : ", ", list[i]);
  }
  return count > list.size() ? out + ", ..." : out;
}

std::string section(const char* id, const char* heading, const std::string& body) {
  return fmt::format(
      "<section id=\"{}\" aria-labelledby=\"{}-h\">\n<h2 id=\"{}-h\">{}</h2>\n{}</section>\n", id,
      id, id, heading, body);
}

std::string aside(const std::string& escaped) {
  return fmt::format("<p class=\"small\">{}</p>\n", escaped);
}

Table& Table::column(const char* name, Align align, const char* help) {
  columns_.push_back({name, align, help});
  return *this;
}

void Table::row() {
  if (any_) rows_ += "</tr>\n";
  rows_ += "<tr>";
  at_ = 0;
  any_ = true;
}

void Table::open_cell(const std::string& attributes) {
  const bool right = at_ < columns_.size() && columns_[at_].align == Align::kRight;
  rows_ += fmt::format("<td{}{}>", right ? " class=\"n\"" : "", attributes);
  ++at_;
}

void Table::cell(std::string_view unescaped) {
  open_cell({});
  rows_ += text(unescaped) + "</td>";
}

void Table::cell(std::string_view unescaped, double sort_by) {
  open_cell(fmt::format(" data-v=\"{:.17g}\"", sort_by));
  rows_ += text(unescaped) + "</td>";
}

void Table::count(std::uint64_t n) {
  open_cell({});
  if (n != 0) rows_ += fmt::format("{}", n);
  rows_ += "</td>";
}

void Table::markup(const std::string& escaped) {
  open_cell({});
  rows_ += escaped + "</td>";
}

std::string Table::take() {
  if (!any_) return {};
  std::string head;
  for (const Column& c : columns_) {
    head += fmt::format(
        "<th scope=\"col\"{}{}>{}</th>", c.align == Align::kRight ? " class=\"n\"" : "",
        *c.help != '\0' ? fmt::format(" title=\"{}\"", text(c.help)) : "", text(c.name));
  }
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n"
      "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tr>\n</tbody></table></div>\n",
      caption_, head, rows_);
}

}  // namespace rpcrdma::report::html
