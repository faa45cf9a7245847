#include "html.h"

#include <numeric>

#include <fmt/core.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/report_html.h>
#include <rpcrdma/report/verdict.h>

namespace rpcrdma::report {

namespace {

const char* verdict_class(Health health) {
  switch (health) {
    case Health::kErrors:
      return "error";
    case Health::kLossy:
    case Health::kWarnings:
      return "warning";
    case Health::kHealthy:
      return "good";
    case Health::kNothing:
      return "note";
  }
  return "note";
}

double seconds(const CaptureSummary& c) {
  // Subtracts integers, because a double cannot hold nanoseconds since 1970.
  const auto ns = static_cast<std::uint64_t>(std::max(c.first_ns, c.last_ns)) -
                  static_cast<std::uint64_t>(std::min(c.first_ns, c.last_ns));
  return static_cast<double>(ns) / 1e9;
}

std::string facts(const Report& r) {
  const auto& kinds = r.messages.kinds;
  const std::uint64_t messages = std::accumulate(kinds.begin(), kinds.end(), std::uint64_t{0});
  std::uint64_t moved = 0;
  for (const auto& [key, p] : r.procedures) {
    for (const std::uint64_t n : p.bytes) moved += n;
  }
  std::string out = "<dl class=\"facts\">\n";
  const auto fact = [&](const char* name, const std::string& value) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  };
  const auto kind = [&](model::Kind k) {
    return plot::format_value(plot::Unit::kCount,
                              static_cast<double>(kinds[static_cast<std::size_t>(k)]));
  };
  fact("Length", plot::format_value(plot::Unit::kSeconds, seconds(r.capture)));
  if (r.capture.events != r.capture.frames || r.capture.frames == 0) {
    fact("RoCE packets",
         plot::format_value(plot::Unit::kCount, static_cast<double>(r.capture.packets.roce)));
  }
  if (r.capture.events != 0) {
    fact("Events", plot::format_value(plot::Unit::kCount, static_cast<double>(r.capture.events)));
  }
  fact("Connections", fmt::format("{}", r.connections.size() + r.not_listed.connections));
  fact("Messages", plot::format_value(plot::Unit::kCount, static_cast<double>(messages)));
  fact("Calls", kind(model::Kind::kCall));
  fact("Replies", kind(model::Kind::kReply));
  fact("Moved through chunks", format_bytes(moved));
  fact("Retransmitted packets", fmt::format("{}", r.capture.packets.retransmitted));
  return out + "</dl>\n";
}

std::string filter_line(const Report& r) {
  if (r.filter.empty()) return {};
  return fmt::format(
      "<p class=\"sub\">filter: <code>{}</code> <span>(applies to RPCs and findings on messages, "
      "not to connections and packets)</span></p>\n",
      html::text(r.filter));
}

std::string head(const Report& r, const HtmlOptions& options) {
  const std::string title = html::text(options.title);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}: RPC-over-RDMA</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      title, html::style_sheet(), plot::svg_styles());
  const Verdict v = verdict(r);
  out += fmt::format(
      "<header>\n<h1>{}</h1>\n<p class=\"sub\">RPC-over-RDMA analysis; {} UTC, {} "
      "frames{}</p>\n{}<p class=\"verdict {}\">{}</p>\n{}",
      title, format_time(r.capture.first_ns), r.capture.frames,
      r.capture.files > 1 ? fmt::format(" in {} files", r.capture.files) : "", filter_line(r),
      verdict_class(v.health), html::text(v.text), facts(r));
  return out;
}

}  // namespace

void write_html(const Report& r, const HtmlOptions& options,
                const std::function<void(std::string_view)>& write) {
  struct Part {
    const char* id;
    const char* name;
    std::string (*make)(const Report&);
  };
  constexpr std::array kParts{Part{"findings", "Findings", html::findings},
                              Part{"capture-quality", "Capture quality", html::capture_quality},
                              Part{"recording", "Recording", html::recording},
                              Part{"credits", "Credits", html::credits},
                              Part{"time", "Traffic", html::over_time},
                              Part{"latency", "Latency", html::latency},
                              Part{"slowest", "Slowest Calls", html::slowest},
                              Part{"procedures", "Procedures", html::procedures},
                              Part{"connections", "Connections", html::connections},
                              Part{"packets", "Packets", html::packets}};
  std::string links;
  std::string body;
  for (const Part& part : kParts) {
    const std::string made = part.make(r);
    if (made.empty()) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", part.id, part.name);
    body += made;
  }
  write(head(r, options));
  write(fmt::format("<nav aria-label=\"Sections\">\n{}</nav>\n</header>\n<main>\n", links));
  write(body);
  write(fmt::format(
      "</main>\n<footer>Generated by rpcrdma {}. Frame numbers start at 1, as in Wireshark. Times "
      "are UTC; chart times count from the first frame.</footer>\n<script>{}</script>\n"
      "</body>\n</html>\n",
      html::text(options.version), html::script()));
}

}  // namespace rpcrdma::report
