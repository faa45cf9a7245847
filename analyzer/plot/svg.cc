#include "svg_frame.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/core.h>

#include <rpcrdma/plot/escape.h>

namespace rpcrdma::plot {

namespace {

constexpr int kTitleHeight = 30;
constexpr int kLegendHeight = 18;
constexpr int kLabelsHeight = 24;
constexpr int kLabelsWidth = 76;

}  // namespace

std::string svg_styles() {
  // The colours differ in lightness too, and lines in their dashes.
  return R"(.plot{display:block;width:100%;height:auto;font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
--t:#30363d;--m:#5c6670;--g:#e1e5ea;--p0:#2f6db5;--p1:#c8641b;--p2:#2a8a57;--p3:#a23d92;--p4:#6b7480;--p5:#bf2f3a}
@media (prefers-color-scheme:dark){.plot{--t:#dfe4ea;--m:#9aa5b1;--g:#2f363e;--p0:#74aef0;--p1:#f2a25c;--p2:#5ec98f;--p3:#e08fd2;--p4:#a6afb9;--p5:#f2808a}}
.plot text{fill:var(--m);font-variant-numeric:tabular-nums}.plot .ti{fill:var(--t);font-size:13px;font-weight:600}
.plot .gr{stroke:var(--g);stroke-width:1;shape-rendering:crispEdges}.plot .ax{stroke:var(--m);stroke-width:1;shape-rendering:crispEdges}
.plot .li{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.plot .ar{fill:var(--c);fill-opacity:.5;stroke:none}
.plot .ba,.plot .he{fill:var(--c)}.plot .do{fill:var(--c)}
.plot .cu{fill:var(--g);stroke:var(--m);stroke-width:1;stroke-dasharray:3 3}
.plot .s0{--c:var(--p0)}.plot .s1{--c:var(--p1);stroke-dasharray:7 3}.plot .s2{--c:var(--p2);stroke-dasharray:2 3}
.plot .s3{--c:var(--p3);stroke-dasharray:10 3 2 3}.plot .s4{--c:var(--p4);stroke-dasharray:4 6}.plot .s5{--c:var(--p5);stroke-dasharray:1 5}
.plot .ri{fill:none;stroke:var(--c);stroke-width:1.8;stroke-dasharray:none}
.plot .sp{stroke:var(--c);stroke-width:7;stroke-opacity:.5;stroke-dasharray:none}.plot .wh{fill:none;stroke:var(--c);stroke-width:1.5;stroke-dasharray:none}
.plot .st{fill:var(--c);stroke:none}.plot .ln{fill:var(--g);fill-opacity:.45}.plot .un{fill:none;stroke:var(--m);stroke-width:1;stroke-opacity:.8}
)";
}

std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text) {
  return 7.5 * static_cast<double>(terminal_width(text));
}

std::string svg_begin(const Svg& svg, int height, const std::string& title,
                      const std::string& description) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-labelledby=\"{}-t {}-d\">\n",
      svg.width, height, svg.id, svg.id);
  const std::string heading = escape_xml(title);
  out += fmt::format("<title id=\"{}-t\">{}</title><desc id=\"{}-d\">{}</desc>\n", svg.id, heading,
                     svg.id, escape_xml(description));
  if (svg.styles) out += fmt::format("<style>{}</style>\n", svg_styles());
  return out + fmt::format("<text class=\"ti\" x=\"4\" y=\"16\">{}</text>\n", heading);
}

Box plot_box(const Svg& svg, int lines) {
  return {kLabelsWidth, static_cast<double>(kTitleHeight + lines * kLegendHeight),
          static_cast<double>(svg.width - 14), static_cast<double>(svg.height - kLabelsHeight)};
}

std::string svg_y_axis(const Box& box, const Axis& axis, Unit unit) {
  std::string grid;
  std::string labels;
  for (const double tick : axis.ticks) {
    const double y = box.y(axis.scale, tick);
    grid += fmt::format("M{} {}H{}", px(box.left), px(y), px(box.right));
    labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", px(box.left - 6),
                          px(y + 4), format_value(unit, tick));
  }
  return fmt::format("<path class=\"gr\" d=\"{}\"/>{}\n", grid, labels);
}

std::string svg_cuts(const Box& box, const Scale& scale, Unit unit) {
  std::string out;
  for (const Cut& c : scale.cuts) {
    const double left = box.x(scale, c.from);
    out += fmt::format(
        "<rect class=\"cu\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} without "
        "traffic</title></rect>\n",
        px(left), px(box.top), px(std::max(1.0, box.x(scale, c.to) - left)),
        px(box.bottom - box.top), format_value(unit, c.to - c.from));
  }
  return out;
}

std::string clock_text(double seconds) {
  if (seconds < 60) return format_value(Unit::kSeconds, seconds);
  // In hundredths, so that 59.999 s is not printed as 60.
  const auto all =
      static_cast<std::uint64_t>(std::llround(std::min(seconds, kLargest / 100) * 100));
  const std::uint64_t whole = all / 100;
  std::string out = whole >= 3600
                        ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                        : fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (all % 100 != 0) out += fmt::format(".{:02}", all % 100);
  return out;
}

namespace {

template <typename Text>
std::string x_axis(const Box& box, const Axis& axis, Text&& text_of) {
  std::string marks = fmt::format("M{} {}H{}", px(box.left), px(box.bottom), px(box.right));
  std::string labels;
  double free_from = 0;
  for (const double tick : axis.ticks) {
    const double x = box.x(axis.scale, tick);
    const std::string text = text_of(tick);
    const double half = text_width(text) / 2;
    // Labels near the ends are shifted inwards.
    const double middle = std::clamp(x, half, std::max(half, box.right + 12 - half));
    if (middle - half < free_from) continue;
    free_from = middle + half + 8;
    marks += fmt::format("M{} {}v4", px(x), px(box.bottom));
    labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", px(middle),
                          px(box.bottom + 17), text);
  }
  return fmt::format("<path class=\"ax\" d=\"{}\"/>{}\n", marks, labels);
}

}  // namespace

std::string svg_x_axis(const Box& box, const Axis& axis, Unit unit) {
  return x_axis(box, axis, [unit](double tick) { return format_value(unit, tick); });
}

std::string svg_clock_axis(const Box& box, const Axis& axis, Unit unit) {
  return x_axis(box, axis, [unit](double tick) {
    return unit == Unit::kSeconds ? clock_text(tick) : format_value(unit, tick);
  });
}

}  // namespace rpcrdma::plot
