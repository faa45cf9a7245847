// Colours have enough contrast and differ for colour-blind eyes, in both palettes.
#include <QPainter>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/views/palettes.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

using Rgb = std::array<double, 3>;

double linear(double c) {
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}
Rgb linear(const QColor& c) {
  return {linear(c.redF()), linear(c.greenF()), linear(c.blueF())};
}

// WCAG 2.1: relative luminance and contrast ratio.
double luminance(const QColor& c) {
  const Rgb l = linear(c);
  return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
}
double contrast(const QColor& a, const QColor& b) {
  const double one = luminance(a), other = luminance(b);
  return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
using Matrix = std::array<Rgb, 3>;
constexpr Matrix kNormal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtan{{{0.152286, 1.052583, -0.204868},
                          {0.114503, 0.786281, 0.099216},
                          {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeutan{{{0.367322, 0.860646, -0.227968},
                          {0.280085, 0.672501, 0.047413},
                          {-0.011820, 0.042940, 0.968881}}};

Rgb lab(const QColor& colour, const Matrix& eye) {
  const Rgb in = linear(colour);
  Rgb seen{};
  for (std::size_t i = 0; i < 3; ++i) {
    seen[i] = std::clamp(eye[i][0] * in[0] + eye[i][1] * in[1] + eye[i][2] * in[2], 0.0, 1.0);
  }
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.95047);
  const double y = f(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
  const double z = f((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}
double difference(const QColor& a, const QColor& b, const Matrix& eye) {
  const Rgb one = lab(a, eye), other = lab(b, eye);
  return std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

struct Case {
  const char* name;
  QPalette palette;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class Theme : public ::testing::TestWithParam<Case> {
 protected:
  const QPalette palette_ = GetParam().palette;
  [[nodiscard]] std::vector<QColor> grounds() const {
    return {palette_.color(QPalette::Base), palette_.color(QPalette::AlternateBase),
            palette_.color(QPalette::Window)};
  }
};
INSTANTIATE_TEST_SUITE_P(Palettes, Theme,
                         ::testing::Values(Case{"light", light_palette()},
                                           Case{"dark", dark_palette()}),
                         [](const auto& one) { return std::string(one.param.name); });

constexpr double kText = 4.5, kGraphics = 3;

TEST_P(Theme, InksHaveContrast) {
  for (int i = 0; i < kInkCount; ++i) {
    const Ink what = static_cast<Ink>(i);
    const QColor text = text_ink(palette_, what);
    for (const QColor& ground : grounds()) {
      EXPECT_GE(contrast(ink(palette_, what), ground), kGraphics)
          << i << ground.name().toStdString();
      EXPECT_GE(contrast(text, ground), kText) << i << ground.name().toStdString();
    }
    EXPECT_GE(contrast(text, row_tint(palette_, what)), kText) << i;
  }
}

TEST_P(Theme, SeveritiesHaveContrastOnTheirOwnRows) {
  for (int severity = 0; severity < 3; ++severity) {
    const QColor text = severity_colour(palette_, severity);
    for (const QColor& ground : grounds()) EXPECT_GE(contrast(text, ground), kText) << severity;
    EXPECT_GE(contrast(text, severity_tint(palette_, severity)), kText) << severity;
  }
}

TEST_P(Theme, TextHasContrastOnEveryRow) {
  std::vector<QColor> rows = grounds();
  for (int i = 0; i < kInkCount; ++i) rows.push_back(row_tint(palette_, static_cast<Ink>(i)));
  for (int severity = 0; severity < 3; ++severity) {
    rows.push_back(severity_tint(palette_, severity));
  }
  const auto role = [&](QPalette::ColorRole r) { return palette_.color(r); };
  for (const QColor& row : rows) {
    EXPECT_GE(contrast(role(QPalette::Text), row), kText) << row.name().toStdString();
  }
  for (const QColor& ground : grounds()) {
    EXPECT_GE(contrast(secondary_text(palette_), ground), kText) << ground.name().toStdString();
    EXPECT_GE(contrast(role(QPalette::PlaceholderText), ground), kText)
        << ground.name().toStdString();
    EXPECT_GE(contrast(role(QPalette::Link), ground), kText) << ground.name().toStdString();
    EXPECT_GE(contrast(role(QPalette::LinkVisited), ground), kText) << ground.name().toStdString();
  }
  const std::pair<QPalette::ColorRole, QPalette::ColorRole> pairs[] = {
      {QPalette::HighlightedText, QPalette::Highlight},
      {QPalette::ButtonText, QPalette::Button},
      {QPalette::WindowText, QPalette::Window},
      {QPalette::ToolTipText, QPalette::ToolTipBase},
  };
  for (const auto& [above, below] : pairs) {
    EXPECT_GE(contrast(role(above), role(below)), kText) << above;
  }
}

// What one chart draws together must differ in its hue for every eye, or in its dash pattern.
TEST_P(Theme, InksOfOneChartDiffer) {
  const std::vector<Ink> charts[] = {
      {Ink::kCall, Ink::kReply, Ink::kReverseCall, Ink::kReverseReply, Ink::kError, Ink::kControl},
      {Ink::kCall, Ink::kReply, Ink::kError, Ink::kRead, Ink::kWrite, Ink::kEvent},
      {Ink::kRead, Ink::kWrite, Ink::kReplyChunk},
      {Ink::kRequested, Ink::kGranted, Ink::kInUse, Ink::kWaiting, Ink::kLimit, Ink::kStall},
  };
  constexpr double kLeast = 12;
  for (const auto& chart : charts) {
    for (std::size_t a = 0; a < chart.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (dash_of(chart[a]) != dash_of(chart[b])) continue;
        for (const Matrix& eye : {kNormal, kProtan, kDeutan}) {
          EXPECT_GE(difference(ink(palette_, chart[a]), ink(palette_, chart[b]), eye), kLeast)
              << static_cast<int>(chart[a]) << " and " << static_cast<int>(chart[b]);
        }
      }
    }
  }
}

QImage sign_of(const QPalette& palette, int severity) {
  QImage picture(32, 32, QImage::Format_ARGB32);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  paint_severity(painter, QRectF(0, 0, 32, 32), palette, severity);
  return picture;
}

// The shapes differ, whatever their colours.
TEST_P(Theme, SeveritiesDifferInShape) {
  std::vector<std::vector<bool>> shapes;
  for (int severity = 0; severity < 3; ++severity) {
    const QImage picture = sign_of(palette_, severity);
    std::vector<bool> shape;
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) shape.push_back(picture.pixelColor(x, y).alpha() > 128);
    }
    shapes.push_back(std::move(shape));
    EXPECT_FALSE(severity_icon(palette_, severity).isNull());
  }
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      int different = 0;
      for (std::size_t i = 0; i < shapes[a].size(); ++i) different += shapes[a][i] != shapes[b][i];
      EXPECT_GE(different, 20) << a << " and " << b;
    }
  }
}

TEST_P(Theme, NothingIsDrawnWithoutASeverity) {
  const QImage picture = sign_of(palette_, -1);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) ASSERT_EQ(picture.pixelColor(x, y).alpha(), 0);
  }
}

TEST(ThemeNames, SeveritiesHaveNames) {
  EXPECT_EQ(severity_name(0), QString("error"));
  EXPECT_EQ(severity_name(1), QString("warning"));
  EXPECT_EQ(severity_name(2), QString("note"));
}

}  // namespace
}  // namespace rpcrdma::gui
