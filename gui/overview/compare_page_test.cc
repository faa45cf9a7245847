// The page of comparisons: its numbers are those of `rpcrdma compare`.
#include "compare_page.h"

#include "cards.h"
#include "compare_rows.h"
#include "overview_for_tests.h"
#include "two_histograms.h"

#include <QApplication>
#include <QDropEvent>
#include <QMimeData>
#include <QProcess>
#include <QPushButton>
#include <QTest>
#include <QUrl>
#include <numeric>

#include <gmock/gmock.h>

namespace rpcrdma::gui {
namespace {

constexpr int kLongest = 30'000;

CompareInput file(const std::string& name) {
  return {.name = QString::fromStdString(name), .paths = {testing::capture(name)}};
}

class Compare : public ::testing::Test {
 protected:
  Compare() {
    page.resize(1000, 800);
    page.show();
  }
  void compare(const CompareInput& before, const CompareInput& after) {
    page.set_input(report::kBefore, before);
    page.set_input(report::kAfter, after);
    ASSERT_TRUE(QTest::qWaitFor([&] { return page.comparison() != nullptr; }, kLongest))
        << page.problem(0).toStdString() << page.problem(1).toStdString();
  }

  Document document;
  ComparePage page{document};
};

#ifdef RPCRDMA_COMMAND  // it is built, too
TEST_F(Compare, NumbersAreThoseOfTheCommand) {
  compare(file("linux-nfs41.pcap"), file("linux-nfs3.pcap"));
  QProcess command;
  const std::string before = page.input(0).paths.front();
  const std::string after = page.input(1).paths.front();
  command.start(RPCRDMA_COMMAND, {"compare", QString::fromStdString(before),
                                  QString::fromStdString(after), "--json"});
  ASSERT_TRUE(command.waitForFinished(kLongest)) << command.errorString().toStdString();
  EXPECT_EQ(report::comparison_json(*page.comparison(), {before, after}),
            command.readAllStandardOutput().toStdString());
}
#endif

// Every cell of the tables is in the command's text.
TEST_F(Compare, TheTablesSayWhatTheCommandPrints) {
  compare(file("linux-nfs41.pcap"), file("rules/RETX-STORM.pcap"));
  const QString text = QString::fromStdString(
      report::comparison_text(*page.comparison(), {"A", "B"}, {.colour = false, .all = true}));
  const LatencyRows latencies = latency_rows(*page.comparison());
  ASSERT_FALSE(latencies.rows.empty());
  EXPECT_EQ(page.latencies().rowCount(), std::ssize(latencies.rows));
  for (const auto& row : latencies.rows) {
    for (const unsigned column : {0U, 3U, 4U, 5U, 6U, 7U}) {
      EXPECT_TRUE(text.contains(row[column].text)) << row[column].text.toStdString();
    }
  }
  for (const auto& row : sum_rows(*page.comparison())) {
    for (const unsigned column : {0U, 1U, 2U}) {
      EXPECT_TRUE(text.contains(row[column].text)) << row[column].text.toStdString();
    }
  }
  for (const auto& row : finding_rows(*page.comparison()).rows) {
    EXPECT_TRUE(text.contains(row[1].text)) << row[1].text.toStdString();
  }
}

TEST_F(Compare, TheHistogramsHoldAllCallsOfTheProcedure) {
  compare(file("linux-nfs41.pcap"), file("linux-nfs41.pcap"));
  for (int row = 0; row < page.latencies().rowCount(); ++row) {
    Q_EMIT page.latencies().row_chosen(row);
    for (const auto& side : page.histograms().bins()) {
      EXPECT_NEAR(std::accumulate(side.begin(), side.end(), 0.0), 1.0, 1e-9);
    }
    EXPECT_EQ(page.histograms().bins()[0], page.histograms().bins()[1]);
  }
}

TEST_F(Compare, WhatCannotBeReadIsNamedAndTheOtherSideStays) {
  page.set_input(report::kBefore, file("linux-nfs41.pcap"));
  page.set_input(report::kAfter, {.name = "nowhere", .paths = {"/nowhere/at/all.pcap"}});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !page.problem(1).isEmpty(); }, kLongest));
  EXPECT_TRUE(page.problem(1).contains("/nowhere/at/all.pcap"));
  EXPECT_EQ(page.problem(0), "");
  EXPECT_EQ(page.comparison(), nullptr);
  page.set_input(report::kAfter, file("linux-nfs3.pcap"));
  EXPECT_TRUE(QTest::qWaitFor([&] { return page.comparison() != nullptr; }, kLongest));
}

TEST_F(Compare, TwoRangesOfTheDocument) {
  ASSERT_TRUE(document.open({QString::fromStdString(testing::capture("linux-nfs41.pcap"))}));
  std::int64_t first = 0;
  std::int64_t middle = 0;
  std::int64_t last = 0;
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        return document.row_count() == 100 && document.store().read([&](const index::Content& c) {
          first = c.rows[0].time_ns;
          middle = c.rows[49].time_ns;
          last = c.rows[99].time_ns;
          return c.progress.finished;
        });
      },
      kLongest));
  EXPECT_TRUE(page.range_input().empty());
  document.time_range().set({first, middle});
  page.set_input(report::kBefore, page.range_input());
  document.time_range().set({middle + 1, last});
  page.set_input(report::kAfter, page.range_input());
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.comparison() != nullptr; }, kLongest))
      << page.problem(0).toStdString() << page.problem(1).toStdString();
  std::array<std::uint64_t, 2> calls{};
  for (const report::ProcedureChange& p : page.comparison()->procedures) {
    for (std::size_t i = 0; i < 2; ++i) calls[i] += p.calls[i];
  }
  // A Call counts if it or its Reply is in the range.
  EXPECT_GE(calls[0], 25u);
  EXPECT_GE(calls[1], 25u);
  EXPECT_LE(calls[0] + calls[1], 51u);
}

TEST_F(Compare, SwapExchangesTheSides) {
  compare(file("linux-nfs41.pcap"), file("linux-nfs3.pcap"));
  const std::uint64_t frames = page.comparison()->capture[0].frames;
  for (QPushButton* const button : page.findChildren<QPushButton*>()) {
    if (button->text() == "Swap") QTest::mouseClick(button, Qt::LeftButton);
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.comparison() != nullptr; }, kLongest));
  EXPECT_EQ(page.comparison()->capture[1].frames, frames);
  EXPECT_EQ(page.input(1).name, "linux-nfs41.pcap");
}

TEST_F(Compare, AFileIsDroppedOnASide) {
  auto* const side = page.findChildren<CompareSide*>().at(1);
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(testing::capture("linux-nfs3.pcap")))});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(side, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(side, &drop);
  EXPECT_EQ(page.input(1).paths.at(0), testing::capture("linux-nfs3.pcap"));
  EXPECT_TRUE(page.input(0).empty());
}

}  // namespace
}  // namespace rpcrdma::gui
