// The credit chart: extremes at any zoom, keys and mouse, legend and values under the cursor.
#include "views_for_tests.h"

#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <gtest/gtest.h>

#include <rpcrdma/views/credit_chart.h>
#include <rpcrdma/views/theme.h>

namespace rpcrdma::gui {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Ten seconds with 32 credits and 8 in use, and 100 ns in which 40 Calls wait.
class Steady : public CreditSource {
 public:
  std::int64_t begin = 0, end = 10 * kSecond;
  bool reverse = false;
  std::int64_t spike = 5 * kSecond;
  std::uint32_t waiting = 40;
  std::uint32_t limit = 0;
  std::uint32_t in_use = 8;

  std::optional<std::pair<std::int64_t, std::int64_t>> range() const override {
    return std::pair(begin, end);
  }
  std::vector<CreditColumn> columns(int direction, std::int64_t from, std::int64_t to,
                                    int count) const override {
    if (direction == 1 && !reverse) return {};
    std::vector<CreditColumn> all(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      CreditColumn& c = all[static_cast<std::size_t>(i)];
      const auto at = [&](int n) {
        return from + static_cast<std::int64_t>(static_cast<double>(to - from) * n / count);
      };
      c.from_ns = at(i);
      c.to_ns = at(i + 1);
      c.any = true;
      c.requested_max = 32;
      c.granted_min = c.granted_max = 32;
      c.in_use_min = c.in_use_max = in_use;
      c.limit_min = c.limit_max = limit;
      if (spike >= c.from_ns && spike < c.to_ns) {
        c.in_use_max = 32;
        c.waiting_max = waiting;
      }
    }
    return all;
  }
  quint64 message_at(int direction, std::int64_t ns) const override {
    return static_cast<quint64>((ns - begin) / kSecond + 1 + 100 * direction);
  }
};

void wheel(CreditChart& chart, QPoint at, int by) {
  QWheelEvent event(at, chart.mapToGlobal(at), {}, {0, by}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(&chart, &event);
}

class CreditChartTest : public testing::Test {
 protected:
  CreditChartTest() {
    show(chart, 700, 300);
    chart.set_source(&source);
    chart.set_notation(
        {[](std::int64_t ns) { return QString::number(static_cast<double>(ns) / 1e9, 'f', 6); },
         0,
         {}});
    // The range of all views, which the chart obeys.
    QObject::connect(&chart, &CreditChart::window_wanted, &chart,
                     [this](qint64 from, qint64 to) { chart.set_window(std::pair(from, to)); });
    QObject::connect(&chart, &CreditChart::all_wanted, &chart,
                     [this] { chart.set_window(std::nullopt); });
  }
  std::int64_t wide() const { return chart.window().second - chart.window().first; }

  Steady source;
  CreditChart chart;
};

TEST_F(CreditChartTest, TheWheelZoomsAtTheCursor) {
  const auto all = chart.window();
  EXPECT_EQ(all, std::pair(std::int64_t{0}, 10 * kSecond));
  wheel(chart, {350, 150}, 120);
  const auto near = chart.window();
  EXPECT_LT(wide(), 9 * kSecond);
  EXPECT_GT(near.first, 0);
  EXPECT_LT(near.second, 10 * kSecond);
  QTest::mouseDClick(&chart, Qt::LeftButton, {}, {350, 150});
  EXPECT_EQ(chart.window(), all);
}

TEST_F(CreditChartTest, KeysAskForTheRangeBefore) {
  const QSignalSpy undo(&chart, &CreditChart::undo_wanted);
  const QSignalSpy redo(&chart, &CreditChart::redo_wanted);
  QTest::keyClick(&chart, Qt::Key_Backspace);
  QTest::keyClick(&chart, Qt::Key_Left, Qt::AltModifier);
  QTest::keyClick(&chart, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(undo.size(), 2);
  EXPECT_EQ(redo.size(), 1);
}

TEST_F(CreditChartTest, KeysZoomAndMove) {
  QTest::keyClick(&chart, Qt::Key_Plus);
  EXPECT_EQ(wide(), 5 * kSecond);
  const auto before = chart.window();
  QTest::keyClick(&chart, Qt::Key_Right);
  EXPECT_EQ(chart.window().first, before.first + kSecond);
  QTest::keyClick(&chart, Qt::Key_Left);
  EXPECT_EQ(chart.window(), before);
  QTest::keyClick(&chart, Qt::Key_Minus);
  EXPECT_EQ(wide(), 10 * kSecond);
  QTest::keyClick(&chart, Qt::Key_Plus);
  QTest::keyClick(&chart, Qt::Key_Home);
  EXPECT_EQ(wide(), 10 * kSecond);
}

TEST_F(CreditChartTest, ADragZoomsToWhatItCovers) {
  QTest::mousePress(&chart, Qt::LeftButton, {}, {200, 150});
  QTest::mouseMove(&chart, {400, 150});
  QTest::mouseRelease(&chart, Qt::LeftButton, {}, {400, 150});
  EXPECT_LT(wide(), 4 * kSecond);
  EXPECT_GT(wide(), 2 * kSecond);
  const auto before = chart.window();
  QTest::mousePress(&chart, Qt::LeftButton, Qt::ShiftModifier, {300, 150});
  QTest::mouseMove(&chart, {400, 150});
  QTest::mouseRelease(&chart, Qt::LeftButton, Qt::ShiftModifier, {400, 150});
  EXPECT_LT(chart.window().first, before.first);
  EXPECT_EQ(wide(), before.second - before.first);
}

TEST_F(CreditChartTest, AnotherButtonNeitherZoomsNorSelects) {
  const QSignalSpy recorded(&chart, &CreditChart::message_selected);
  QTest::mousePress(&chart, Qt::RightButton, {}, {200, 150});
  QTest::mouseRelease(&chart, Qt::RightButton, {}, {400, 150});
  QTest::mouseClick(&chart, Qt::RightButton, {}, {300, 150});
  EXPECT_EQ(wide(), 10 * kSecond);
  EXPECT_EQ(recorded.size(), 0);
}

TEST_F(CreditChartTest, AClickSelectsTheMessageOfItsDirection) {
  source.reverse = true;
  chart.refresh();
  const QSignalSpy recorded(&chart, &CreditChart::message_selected);
  QTest::mouseClick(&chart, Qt::LeftButton, {}, {350, 80});
  QTest::mouseClick(&chart, Qt::LeftButton, {}, {350, 240});
  ASSERT_EQ(recorded.size(), 2);
  EXPECT_LT(recorded[0][0].toULongLong(), 11U);
  EXPECT_EQ(recorded[1][0].toULongLong(), recorded[0][0].toULongLong() + 100);
}

TEST_F(CreditChartTest, AMomentWithin10SecondsIsDrawn) {
  const QColor waiting = ink(chart.palette(), Ink::kWaiting);
  const int with = dots_of(chart, waiting);
  source.spike = -1;
  chart.refresh();
  // Pixels of the legend alone.
  const int without = dots_of(chart, waiting);
  EXPECT_GT(with, without + 50);
}

TEST_F(CreditChartTest, TheLeastAndTheMostInUseWithinAColumnAreDrawn) {
  source.waiting = 0;
  chart.refresh();
  const int with = dots_of(chart, chart.palette().color(QPalette::Base));
  source.spike = -1;
  chart.refresh();
  EXPECT_GT(dots_of(chart, chart.palette().color(QPalette::Base)), with + 50);
}

TEST_F(CreditChartTest, TheWholeTimeGrowsAndAWindowStays) {
  chart.set_window(std::pair(3 * kSecond, 4 * kSecond));
  source.end = 13 * kSecond;
  chart.refresh();
  EXPECT_EQ(chart.window(), std::pair(3 * kSecond, 4 * kSecond));
  chart.set_window(std::nullopt);
  source.end = 14 * kSecond;
  chart.refresh();
  EXPECT_EQ(chart.window(), std::pair(std::int64_t{0}, 14 * kSecond));
}

// A double represents times since 1970 only to a quarter of a microsecond.
TEST_F(CreditChartTest, TimesSince1970AreZoomedToTheNanosecond) {
  source.begin = 1'700'000'000 * kSecond + 1;
  source.end = source.begin + 10 * kSecond;
  chart.set_source(&source);
  chart.set_window(std::pair(source.begin + 2 * kSecond, source.begin + 2 * kSecond + 1000));
  QTest::keyClick(&chart, Qt::Key_Plus);
  EXPECT_EQ(chart.window(),
            std::pair(source.begin + 2 * kSecond + 250, source.begin + 2 * kSecond + 750));
}

TEST_F(CreditChartTest, LabelsOfTimeNeverOverlap) {
  source.end = 100'000 * kSecond;
  chart.set_source(&source);
  const QFontMetrics metrics = chart.fontMetrics();
  for (std::int64_t span = source.end; span > 20'000; span /= 7) {
    chart.set_window(std::pair(source.end - span, source.end));
    const auto labels = chart.time_labels();
    ASSERT_FALSE(labels.empty()) << span;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const int right = labels[i].left + metrics.horizontalAdvance(labels[i].text);
      EXPECT_LE(right, chart.width());
      EXPECT_GE(labels[i].left, 0);
      if (i == 0) continue;
      EXPECT_GT(labels[i].left, labels[i - 1].left + metrics.horizontalAdvance(labels[i - 1].text));
      EXPECT_NE(labels[i].text, labels[i - 1].text);
    }
  }
}

TEST_F(CreditChartTest, ALimitIsADashedLineOfItsOwn) {
  const QColor colour = ink(chart.palette(), Ink::kLimit);
  EXPECT_EQ(dots_of(chart, colour), 0);
  source.limit = 16;
  chart.refresh();
  // Two pixels thick; two of every three are drawn.
  const int wide = chart.width() - 100;
  EXPECT_GT(dots_of(chart, colour), wide);
  EXPECT_LT(dots_of(chart, colour), 2 * wide);
  EXPECT_EQ(chart.values_at(kSecond),
            "forward: granted 32, limit 16, requested 32, in use 8, waiting 0");
}

TEST_F(CreditChartTest, ValuesUnderTheCursor) {
  EXPECT_EQ(chart.values_at(kSecond), "forward: granted 32, requested 32, in use 8, waiting 0");
  EXPECT_EQ(chart.values_at(5 * kSecond),
            "forward: granted 32, requested 32, in use 8 to 32, waiting 40");
}

// 2 Calls in flight of a grant of 32: the curve has a scale of its own.
TEST_F(CreditChartTest, FewCallsInFlightAreHighAboveTheAxis) {
  source.spike = -1;
  const auto height_of_curve = [this](std::uint32_t in_use) {
    source.in_use = in_use;
    chart.refresh();
    const QImage image = chart.grab().toImage();
    const QColor colour = ink(chart.palette(), Ink::kInUse);
    int rows = 0;  // from the lower edge to the curve
    for (int y = image.height() - 1; y > 0; --y, ++rows) {
      if (image.pixelColor(image.width() / 2, y) == colour) break;
    }
    return rows;
  };
  EXPECT_GT(height_of_curve(2), 130);
}

}  // namespace
}  // namespace rpcrdma::gui
