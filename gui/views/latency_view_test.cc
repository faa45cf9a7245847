#include "views_for_tests.h"

#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <rpcrdma/views/latency_histogram.h>
#include <rpcrdma/views/latency_parts.h>
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

// Its Calls were captured, and no Reply.
TEST(LatencyView, AProcedureWithoutAnswersHasNoHistogram) {
  LatencyView view;
  std::vector<LatencyProcedure> all = procedures();
  all[0].buckets.clear();
  view.set_procedures(all);
  EXPECT_EQ(view.table().item(1, 3)->text().toStdString(), "-");
  view.table().setCurrentCell(view.table().rowCount() - 1, 0);
  ASSERT_EQ(view.current()->buckets.size(), 0U);
  EXPECT_TRUE(view.histogram().bars().empty());
  EXPECT_EQ(view.histogram().axis_labels(), QStringList());
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

TEST(LatencyView, WhatLostMostTimeComesFirst) {
  LatencyView view;
  auto all = procedures();
  // A single Call of 2.4 s among many that take 100 us.
  LatencyProcedure null;
  null.label = "NFS NULL";
  null.calls = 1;
  null.max = 2'400'000'000;
  null.buckets = {{2'390'000'000, 2'410'000'000, 1}};
  all.push_back(null);
  view.set_procedures(all);
  EXPECT_EQ(view.table().item(0, 0)->text(), "NFS NULL");
  ASSERT_NE(view.current(), nullptr);
  EXPECT_EQ(view.current()->label, "NFS NULL");
  EXPECT_EQ(view.table().item(0, 5)->text(), "-");
  // By number, not by text.
  view.table().sortByColumn(1, Qt::AscendingOrder);
  EXPECT_EQ(view.table().item(0, 1)->text(), "1");
  view.table().sortByColumn(7, Qt::DescendingOrder);
  EXPECT_EQ(view.table().item(0, 7)->text(), "2.400 s");
}

TEST(LatencyView, TheHistogramCountsEveryCallInWholeNumbersOnRoundDurations) {
  LatencyView view;
  show(view, 1000, 600);
  LatencyProcedure p = procedures()[0];
  // Finer than pixels.
  p.buckets.clear();
  for (std::int64_t ns = 10'000; ns < 2'000'000; ns += ns / 40) {
    p.buckets.push_back({ns, ns + ns / 40, 20});
  }
  view.set_procedures({p});
  const LatencyHistogram& histogram = view.histogram();
  EXPECT_GT(histogram.bars().size(), 20U);
  EXPECT_LE(histogram.bars().size(), static_cast<std::size_t>(histogram.width() / 6));
  double calls = 0;
  int gaps = 0;
  bool begun = false;
  for (const auto& bar : histogram.bars()) {
    calls += bar.count;
    if (bar.count > 0) begun = true;
    if (begun && bar.count <= 0 && bar.to_ns < 1'900'000) ++gaps;
  }
  EXPECT_NEAR(calls, 20.0 * static_cast<double>(p.buckets.size()), 0.5);
  EXPECT_EQ(gaps, 0);
  const QStringList labels = histogram.axis_labels();
  EXPECT_TRUE(labels.contains("100 us")) << labels.join("; ").toStdString();
  EXPECT_TRUE(labels.contains("1 ms")) << labels.join("; ").toStdString();
  for (const QString& label : labels) EXPECT_FALSE(label.contains('e')) << label.toStdString();
  // Few Calls: no half of one.
  p.buckets = {{10'000, 10'300, 1}, {2'000'000, 2'060'000, 2}};
  view.set_procedures({p});
  for (const auto& bar : histogram.bars()) EXPECT_EQ(bar.count, static_cast<int>(bar.count));
  const auto counts = histogram.count_labels();
  EXPECT_EQ(counts, (std::vector<quint64>{0, 1, 2}));
}

TEST(LatencyView, PartsAreWrittenInFullAndTheirAbsenceIsSaid) {
  LatencyView view;
  auto all = procedures();
  all[0].parts[0].in_latency = false;
  all[0].parts[0].calls = 12;
  all.resize(1);
  view.set_parts_note("Of some Calls");
  view.set_procedures(all);
  EXPECT_EQ(view.parts().lines(),
            QStringList({"Of some Calls",
                         "waiting for a credit: mean 1 us, p99 5 us, 12 Calls (not in the latency)",
                         "data: mean 15 us, p99 700 us"}));
  all[0].parts.clear();
  view.set_parts_note("No parts");
  view.set_procedures(all);
  EXPECT_EQ(view.parts().lines(), QStringList({"No parts"}));
}

}  // namespace
}  // namespace rpcrdma::gui
