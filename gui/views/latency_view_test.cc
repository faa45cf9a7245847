#include "views_for_tests.h"

#include <QAbstractSeries>
#include <QChart>
#include <QChartView>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/latency_view.h>

namespace rpcrdma::gui {
namespace {

std::vector<LatencyProcedure> procedures() {
  LatencyProcedure read;
  read.label = "NFS READ";
  read.calls = 1000;
  read.errors = 2;
  read.p50 = 20'000;
  read.p90 = 40'000;
  read.p99 = 900'000;
  read.p999 = 2'000'000;
  read.max = 2'100'000;
  read.buckets = {{10'000, 30'000, 800}, {30'000, 100'000, 150}, {100'000, 2'100'000, 50}};
  read.parts = {{"waiting for a credit", 1'000, 5'000}, {"data", 15'000, 700'000}};
  read.outliers = {{17, 170, 2'100'000, 1}, {5, 50, 2'000'000, 2}};
  LatencyProcedure write = read;
  write.label = "NFS WRITE";
  write.outliers = {{99, 990, 1'000'000, 3}};
  return {read, write};
}

TEST(LatencyView, AProcedureHasItsRow) {
  LatencyView view;
  view.set_procedures(procedures());
  ASSERT_EQ(view.table().rowCount(), 2);
  const char* const words[] = {"NFS READ", "1000",   "2",    "20 us",
                               "40 us",    "900 us", "2 ms", "2.1 ms"};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(view.table().item(0, i)->text().toStdString(), words[i]);
}

TEST(LatencyView, ASlowCallThatIsClickedIsSelected) {
  LatencyView view;
  show(view, 900, 500);
  view.set_procedures(procedures());
  const QSignalSpy recorded(&view, &LatencyView::message_selected);
  const auto click = [&](int row) {
    const QRect at = view.outliers().visualItemRect(view.outliers().item(row, 0));
    QTest::mouseClick(view.outliers().viewport(), Qt::LeftButton, {}, at.center());
  };
  click(1);
  ASSERT_FALSE(recorded.isEmpty());
  EXPECT_EQ(recorded.back()[0].toULongLong(), 5U);
  view.table().setFocus();
  QTest::keyClick(&view.table(), Qt::Key_Down);
  EXPECT_EQ(view.outliers().rowCount(), 1);
  click(0);
  EXPECT_EQ(recorded.back()[0].toULongLong(), 99U);
}

// Its Calls were captured, and no Reply. A leak checker verifies that nothing remains of charts
// that are not drawn.
TEST(LatencyView, AProcedureWithoutAnswersHasNoHistogram) {
  LatencyView view;
  std::vector<LatencyProcedure> all = procedures();
  all[0].buckets.clear();
  view.set_procedures(all);
  EXPECT_EQ(view.table().item(0, 3)->text().toStdString(), "-");
  int histograms = 0;
  for (const QChartView* const chart : view.findChildren<QChartView*>()) {
    if (chart->accessibleName() != "Histogram of latency") continue;
    ++histograms;
    EXPECT_TRUE(chart->chart()->series().isEmpty());
  }
  EXPECT_EQ(histograms, 1);
}

TEST(LatencyView, TheChosenProcedureStaysChosenWhenNumbersChange) {
  LatencyView view;
  auto all = procedures();
  view.set_procedures(all);
  view.table().setCurrentCell(1, 0);
  std::swap(all[0], all[1]);
  view.set_procedures(all);
  EXPECT_EQ(view.table().currentRow(), 0);
  EXPECT_EQ(view.outliers().rowCount(), 1);
  view.set_procedures({});
  EXPECT_EQ(view.outliers().rowCount(), 0);
}

}  // namespace
}  // namespace rpcrdma::gui
