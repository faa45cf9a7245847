#include "views_for_tests.h"

#include <QImage>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/byte_view.h>
#include <rpcrdma/views/chunk_sizes_view.h>
#include <rpcrdma/views/chunk_view.h>
#include <rpcrdma/views/congestion_view.h>
#include <rpcrdma/views/credit_chart.h>
#include <rpcrdma/views/ladder_view.h>
#include <rpcrdma/views/latency_view.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

ChunkSizes sizes() {
  ChunkSizes all;
  all.sizes[1][17] = 40;
  all.rates = {{0, 1'000'000'000, {0, 1e6, 0}}, {1'000'000'000, 2'000'000'000, {0, 2e6, 0}}};
  return all;
}

TEST(Picture, APngIsTwiceAsLarge) {
  ByteView view;
  show(view, 300, 100);
  view.set_bytes("some bytes");
  const QTemporaryDir folder;
  const QString path = folder.filePath("a.png");
  ASSERT_EQ(save_png(view, path), QString());
  EXPECT_EQ(QImage(path).size(), QSize(600, 200));
}

TEST(Picture, WhatCannotBeWrittenIsReported) {
  ByteView view;
  const QTemporaryDir folder;
  const QString path = folder.filePath("none/a");
  EXPECT_TRUE(save_png(view, path).contains(path));
  EXPECT_TRUE(save_svg(view, path).contains(path));
}

TEST(Picture, ChartsAreLinesAndWordsInASvg) {
  ChunkSizesView view;
  show(view, 800, 300);
  view.set_sizes(sizes());
  const SvgText drawn = svg_of(view);
  EXPECT_EQ(drawn.images, 0);
  EXPECT_TRUE(drawn.texts.join(' ').contains("Chunks by size"))
      << drawn.texts.join('\n').toStdString();
}

// Every view follows a palette that changes while it is visible.
TEST(Picture, ADarkWindowIsDrawnDark) {
  ByteView bytes;
  bytes.set_bytes("bytes");
  ChunkView chunks;
  LadderView ladder;
  CreditChart credits;
  LatencyView latency;
  ChunkSizesView sizes_view;
  sizes_view.set_sizes(sizes());
  CongestionView congestion;
  Congestion signs;
  signs.bins = {{0, 1'000'000'000, {3, 0}, {0, 1}, {}},
                {1'000'000'000, 2'000'000'000, {1, 0}, {0, 1}, {}}};
  signs.totals = "totals";
  congestion.set_congestion(signs);
  for (QWidget* const view : std::initializer_list<QWidget*>{&bytes, &chunks, &ladder, &credits,
                                                             &latency, &sizes_view, &congestion}) {
    show(*view, 500, 300);
    const auto lightness = [view] {
      const QImage image =
          view->grab().toImage().scaled(1, 1, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
      return image.pixelColor(0, 0).lightness();
    };
    EXPECT_GT(lightness(), 170) << view->accessibleName().toStdString();
    view->setPalette(dark_palette());
    EXPECT_LT(lightness(), 100) << view->accessibleName().toStdString();
  }
}

TEST(Theme, ColoursOfLightAndDarkDiffer) {
  const QPalette light(QColor(240, 240, 240));
  EXPECT_FALSE(is_dark(light));
  EXPECT_TRUE(is_dark(dark_palette()));
  for (int i = 0; i <= static_cast<int>(Ink::kEvent); ++i) {
    EXPECT_NE(ink(light, static_cast<Ink>(i)), ink(dark_palette(), static_cast<Ink>(i))) << i;
  }
  for (int severity = 0; severity < 3; ++severity) {
    EXPECT_NE(severity_colour(light, severity), severity_colour(dark_palette(), severity));
  }
  // Lines stand out from their background.
  EXPECT_GT(line_colour(dark_palette()).lightness(),
            dark_palette().color(QPalette::Base).lightness() + 40);
  EXPECT_EQ(tint(light, Qt::red, 0), light.color(QPalette::Base));
  EXPECT_EQ(tint(light, Qt::red, 1), QColor(Qt::red));
}

}  // namespace
}  // namespace rpcrdma::gui
